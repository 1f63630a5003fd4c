#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/reclaimable_memory.h"
#include "forebay/buffer.h"
#include "stream/ranks/record_notes.h"
#include "stream/record_log.h"
#include "stream/stream_bytes.h"

namespace forebay {

/// The records that this rank reads of a stream for all ranks: for each partition notes of what
/// came, in order, for all ranks, and the records themselves, each for the one rank that has it in a
/// batch. While the stream has a record only its place takes memory here. After that, records that
/// their rank has not fetched yet are kept up to a limit, and so are notes that not all ranks have,
/// since a rank may be gone. A rank that comes too late reads the log. May be used from any thread.
class RecordShelf {
 public:
  struct Limits {
    uint64_t late_bytes = 0;  ///< of records that the stream has let go of
    uint64_t note_bytes = 0;  ///< of what not all ranks have been told
  };
  RecordShelf(size_t partitions, int rank, int ranks, Limits limits);

  /// Forgets everything: the next records are of another run.
  void begin_anew(uint64_t seeks);

  /// As they were read, before the stream has them.
  void add(const std::vector<LogRecord>& records, const std::vector<LogGap>& gaps);
  /// This rank has it in a batch of its own.
  void taken(const LogRecord& record);
  /// The stream lets go of it.
  void behind(const LogRecord& record);

  /// For another rank, which has all notes below `from`: those behind, some hundreds at a time.
  /// Nothing where there are none yet, or of another run; none, in an answer of no bytes, where
  /// those are forgotten.
  std::optional<Buffer> notes(uint64_t seeks, int rank, size_t partition, uint64_t from);
  /// For another rank: record_bytes() of a record, which nobody will ask for again. Nothing where
  /// it is not here any more.
  std::optional<Buffer> row(uint64_t seeks, size_t partition, uint64_t offset_hash);
  /// The stream has gone past a record that another rank has not come for.
  bool is_awaited() const;
  /// How rows are asked for.
  static uint64_t hash_of(const std::string& offset);

  /// Memory beside the stream's.
  std::shared_ptr<ReclaimableMemory> bytes() const { return bytes_; }
  struct Stats {
    int64_t lent = 0;     ///< records that others came for
    int64_t dropped = 0;  ///< and those that they came too late for
  };
  Stats stats() const;

 private:
  struct Row {
    LogRecord record;
    bool late = false;  // the stream has it no more
  };
  struct Partition {
    uint64_t first_note = 0;  // how many notes all ranks have
    std::deque<RecordNote> notes;
    std::vector<uint64_t> asked;  // of each other rank: how many it has
    std::unordered_map<uint64_t, Row> rows;
  };
  struct Late {
    size_t partition;
    uint64_t offset_hash;
  };
  void note(size_t partition, RecordNote note);
  void forget_notes(Partition& partition, uint64_t below);
  std::optional<Row> take_out(size_t partition, uint64_t offset_hash);
  bool is_late(const Late& late) const;
  void forget_late();
  void count() { bytes_->set(place_bytes_ + late_bytes_ + note_bytes_); }

  const int rank_, ranks_;
  const Limits limits_;
  const std::shared_ptr<StreamBytes> bytes_;
  mutable std::mutex mutex_;
  uint64_t seeks_ = 0;
  std::vector<Partition> partitions_;
  std::deque<Late> late_;  // the oldest first; some have been fetched meanwhile
  size_t late_rows_ = 0;
  // Bytes: of all rows but for their payloads; of the payloads of late ones; of notes.
  uint64_t place_bytes_ = 0, late_bytes_ = 0, note_bytes_ = 0;
  Stats stats_;
};

}  // namespace forebay
