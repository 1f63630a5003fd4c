#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/reclaimable_memory.h"
#include "stream/awaited_records.h"
#include "stream/read_record.h"
#include "stream/replay_disk.h"
#include "stream/stream_bytes.h"

namespace forebay {

class Stream;

/// Which of the kept records a rank has in its memory: each is with one of the ranks that share them.
struct KeptShare {
  int rank = 0, ranks = 1;
  int owner(int64_t number) const { return static_cast<int>(number % ranks); }
  bool mine(int64_t number) const { return owner(number) == rank; }
};

struct KeptOptions {
  KeptShare share = {};
  uint64_t memory_bytes = UINT64_MAX;     ///< of this rank's own: what comes when these are full goes to the disk
  std::shared_ptr<ReplayDisk> disk = {};  ///< null: all stay in memory
};

/// Records of a stream that are kept though they are behind: for rehearsal. Every rank knows which these are and where they lie in the log; the records themselves are shared
/// out, lie in memory or on disk, and are brought for the steps that have them. By number; from any thread.
class ReplayRecords final : public AwaitedRecords {
 public:
  explicit ReplayRecords(std::shared_ptr<const RecordLog> log, KeptOptions options = {})
      : log_(std::move(log)), options_(std::move(options)), bytes_(std::make_shared<StreamBytes>()) {}

  const KeptShare& share() const { return options_.share; }
  /// The stream goes on with that number: nothing is lent any more.
  void begin(int64_t number);
  /// Records of the stream that are there now; what is below `seen` and not kept will never be. NotFound where one is not there.
  Status keep(const Stream& stream, std::span<const int64_t> numbers, int64_t seen);
  void let_go(std::span<const int64_t> numbers);
  bool is_kept(int64_t number) const;
  /// One that is in memory here: this rank's own, or brought. Null for all others.
  std::shared_ptr<const LogRecord> record(int64_t number) const;

  /// Where these lie in the log, as JSON: of each its number, partition, offset, and an offset before it.
  std::string places(std::span<const int64_t> numbers) const;
  /// Those records are kept in place of all others; this rank's own are read again from the log. InvalidArgument for what places() does not write; NotFound where the log has
  /// forgotten one; Unavailable where it cannot be reached for some seconds.
  Status read_places(const std::string& json);

  /// A step of this rank has these. Which of them must be brought: those that are not in memory here.
  std::vector<int64_t> borrow(std::span<const int64_t> numbers);
  /// All of them are here.
  bool here(std::span<const int64_t> numbers) const override;
  /// That step is behind.
  void give_back(std::span<const int64_t> numbers);

  // What was borrowed has come: another rank's bytes_of(), from this rank's disk, from the log, or not at all, and another record of this rank's own stands in.
  int owner(int64_t number) const override { return share().owner(number); }
  int own_rank() const override { return share().rank; }
  Status lend(int64_t number, const Buffer& bytes) override;
  Status read_here(int64_t number) override;
  Status read_again(int64_t number, const std::stop_token& stop) override;
  bool replacement(int64_t number) override;

  /// For the other ranks: a record of this one's own, which may wait for the disk; also for a while after it was let go of, since they may be some steps behind.
  std::optional<Buffer> bytes_of(int64_t number) const;
  /// It is not known yet whether this rank will keep it.
  bool will_know(int64_t number) const;

  /// In memory here, and on disk.
  std::shared_ptr<ReclaimableMemory> bytes() const { return bytes_; }
  uint64_t disk_bytes() const { return options_.disk ? options_.disk->used() : 0; }

 private:
  using RecordPtr = std::shared_ptr<const LogRecord>;
  using Place = RecordPlace;
  struct Kept {
    Place place;
    RecordPtr record;  // null: it is on disk, or another rank has it, or only the log
    std::optional<ReplayDisk::Slot> slot = {};
  };
  struct Borrowed {
    Place place;
    RecordPtr record;  // null: it has not come
    int steps = 0;     // that have it
  };
  Result<std::map<int64_t, Kept>> parse_places(const std::string& json) const;
  Status read_all(const std::vector<Kept*>& wanted) const;
  // With the lock held:
  void store(const LogRecord& record, Kept& kept);
  void drop(Kept& kept);
  void lent(int64_t number, RecordPtr record);
  void forget_late();
  void count();

  const std::shared_ptr<const RecordLog> log_;
  const KeptOptions options_;
  const std::shared_ptr<StreamBytes> bytes_;
  mutable std::mutex mutex_;
  std::map<int64_t, Kept> records_;
  std::map<int64_t, Borrowed> borrowed_;
  std::deque<std::pair<int64_t, RecordPtr>> late_;  // own ones that were let go of, the oldest first
  uint64_t own_bytes_ = 0, borrowed_bytes_ = 0, late_bytes_ = 0;
  int64_t seen_ = 0;
};

}  // namespace forebay
