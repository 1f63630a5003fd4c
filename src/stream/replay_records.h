#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "stream/awaited_records.h"
#include "stream/read_record.h"
#include "stream/replay_disk.h"
#include "stream/replay_state.h"
#include "stream/stream_bytes.h"

namespace forebay {

class Stream;

/// The part of the replay buffer that one rank owns. Each record has one owner among the ranks.
struct ReplayShare {
  int rank = 0, ranks = 1;
  int owner(int64_t number) const { return static_cast<int>(number % ranks); }
  bool mine(int64_t number) const { return owner(number) == rank; }
};

struct ReplayRecordsOptions {
  ReplayShare share = {};
  uint64_t memory_bytes = UINT64_MAX;     ///< for this rank's own records; others go to disk
  std::shared_ptr<ReplayDisk> disk = {};  ///< null: all records stay in memory
};

/// Records that have left the replay buffer and are retained for ranks that are some steps late,
/// oldest first, with the sum of their bytes. The lock of the owning ReplayRecords guards it.
class LateRecords {
 public:
  void add(int64_t number, std::shared_ptr<const LogRecord> record);
  /// Null if the record is not here.
  std::shared_ptr<const LogRecord> find(int64_t number) const;
  /// Drops the oldest records until at most `most_bytes` remain.
  void trim(uint64_t most_bytes);
  void clear();
  uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::pair<int64_t, std::shared_ptr<const LogRecord>>> records_;
  uint64_t bytes_ = 0;
};

/// The replay buffer of a stream: delivered records that may be replayed, by number. Every rank
/// knows the place of each record in the log. Only the owner of a record (ReplayShare) retains its
/// bytes, in memory or on disk. Any rank can pin a record, which then is fetched to its memory for
/// the steps that replay it.
///
/// A StreamRun owns it. ReplaySteps retains, releases and pins records, on a thread of the runner;
/// RecordExchange fetches pinned records on a thread of its own; threads of the transport serve
/// records to other ranks. May be used from any thread.
class ReplayRecords final : public AwaitedRecords {
  using RecordPtr = std::shared_ptr<const LogRecord>;
  using Place = RecordPlace;
  struct Retained {
    Place place;
    RecordPtr record;  // null: on disk, or owned by another rank, or only in the log
    std::optional<ReplayDisk::Slot> slot = {};
  };

 public:
  /// The records of a state, by number.
  using Saved = std::map<int64_t, Retained>;

  explicit ReplayRecords(std::shared_ptr<const RecordLog> log, ReplayRecordsOptions options = {})
      : log_(std::move(log)), options_(std::move(options)), bytes_(std::make_shared<StreamBytes>()) {}

  const ReplayShare& share() const { return options_.share; }
  /// Continues the stream at that number. Unpins all records.
  void begin(int64_t number);
  /// Adds records, which the stream must not have released yet. No later call adds a record below
  /// `seen`. NotFound if the stream no longer has one of the records.
  Status retain(const Stream& stream, std::span<const int64_t> numbers, int64_t seen);
  /// Removes records. The owner retains some of them for late ranks (LateRecords).
  void release(std::span<const int64_t> numbers);
  bool contains(int64_t number) const;
  /// A record that is in memory here, because this rank owns it or has pinned it. Null for all
  /// others.
  std::shared_ptr<const LogRecord> record(int64_t number) const;

  /// The places of these records in the log.
  std::vector<PlacedRecord> places(std::span<const int64_t> numbers) const;
  /// Reads this rank's own ones of those records again from the log, for restore().
  /// InvalidArgument if the log has no such places; NotFound if it has trimmed a record;
  /// Unavailable if it cannot be reached for some seconds.
  Result<Saved> read(std::span<const PlacedRecord> records) const;
  /// Replaces the buffer by what read() returned.
  void restore(const Saved& saved);

  /// Pins records for a step of this rank. Returns those that are not in memory here and are not
  /// being fetched for another step: the caller has RecordExchange fetch them.
  std::vector<int64_t> pin(std::span<const int64_t> numbers);
  /// Whether all of these records are in memory here.
  bool all_available(std::span<const int64_t> numbers) const override;
  /// Unpins the records of a step that is delivered.
  void unpin(std::span<const int64_t> numbers);

  // See AwaitedRecords: the ways in which a pinned record arrives. replace() takes another record
  // that this rank owns.
  int owner(int64_t number) const override { return share().owner(number); }
  int own_rank() const override { return share().rank; }
  Status receive(int64_t number, const Buffer& bytes) override;
  Status read_from_disk(int64_t number) override;
  Status read_from_log(int64_t number, const std::stop_token& stop) override;
  bool replace(int64_t number) override;

  /// The bytes of a record of this rank's own, for another rank. May wait for the disk. A record
  /// can be read for a while after release(), since other ranks may be some steps late.
  std::optional<Buffer> bytes_of(int64_t number) const;
  /// Whether this rank owns the record and a later retain() may add it.
  bool may_still_add(int64_t number) const;

  /// Bytes of records in the memory of this rank, and on its disk.
  std::shared_ptr<ReclaimableMemory> memory() const { return bytes_; }
  uint64_t disk_bytes() const { return options_.disk ? options_.disk->used() : 0; }

 private:
  struct Pinned {
    Place place;
    RecordPtr record;      // null: it has not arrived
    int steps = 0;         // count of the steps that have pinned it
    bool trimmed = false;  // the log no longer has it, so that it may be replaced
  };
  Status check(const RecordPlace& place) const;
  Status read_all(const std::vector<Retained*>& wanted) const;
  void store(const LogRecord& record, Retained& retained) FOREBAY_REQUIRES(mutex_);
  void drop(Retained& retained) FOREBAY_REQUIRES(mutex_);
  void set_pinned(int64_t number, RecordPtr record) FOREBAY_REQUIRES(mutex_);
  void trim_late() FOREBAY_REQUIRES(mutex_);
  void update_bytes() FOREBAY_REQUIRES(mutex_);

  const std::shared_ptr<const RecordLog> log_;
  const ReplayRecordsOptions options_;
  const std::shared_ptr<StreamBytes> bytes_;
  mutable Mutex mutex_;
  std::map<int64_t, Retained> records_ FOREBAY_GUARDED_BY(mutex_);
  std::map<int64_t, Pinned> pinned_ FOREBAY_GUARDED_BY(mutex_);
  LateRecords late_ FOREBAY_GUARDED_BY(mutex_);  // own records after release()
  uint64_t own_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t pinned_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  int64_t seen_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
