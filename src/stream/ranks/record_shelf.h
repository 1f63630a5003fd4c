#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "forebay/buffer.h"
#include "stream/ranks/record_notes.h"
#include "stream/record_log.h"
#include "stream/stream_bytes.h"

namespace forebay {

/// The records that this rank reads for all ranks of a stream.
///
/// Each partition has notes of its records (RecordNote), in order, which every rank fetches. Notes
/// are dropped once all ranks have fetched them, or at Limits::note_bytes, since a rank may be
/// gone. Each partition also has the records themselves, each of which is fetched by the one rank
/// that has it in a batch. While the stream holds a record, the shelf shares its payload. A record
/// that the stream has released is late; the oldest late records are dropped at Limits::late_bytes.
/// A rank that misses a note or a record reads the log itself.
///
/// May be used from any thread. Shared by the AssignedLog that this rank reads and by the
/// StreamService that answers the others.
class RecordShelf {
 public:
  struct Limits {
    uint64_t late_bytes = 0;  ///< of late records
    uint64_t note_bytes = 0;  ///< of notes
  };
  RecordShelf(size_t partitions, int rank, int ranks, Limits limits);

  /// Drops everything: the next records are of another run.
  void begin_run(uint64_t run);

  /// Adds records and gaps in the order in which they were read, before the stream gets them.
  void add(const std::vector<LogRecord>& records, const std::vector<LogGap>& gaps);
  /// Removes a record that this rank itself has in a batch.
  void remove(const LogRecord& record);
  /// Reports that the stream has released this record. It becomes late, if it is here.
  void on_release(const LogRecord& record);

  /// Returns the notes from number `from` on, at most a thousand, for another rank, which has all
  /// notes before. Returns nothing if there are none yet or the run is another one, and an empty
  /// buffer if these notes were dropped.
  std::optional<Buffer> notes_from(uint64_t run, int rank, size_t partition, uint64_t from);
  /// Removes a record and returns its record_bytes(), for the one rank that needs it. Returns
  /// nothing if the record is no longer here.
  std::optional<Buffer> take_record(uint64_t run, size_t partition, uint64_t offset_hash);
  /// Whether the stream has released a record that another rank has not fetched.
  bool has_late_records() const;
  /// The hash of an offset, by which ranks request a record.
  static uint64_t hash_of(const std::string& offset);

  /// Bytes of memory in addition to the stream's.
  std::shared_ptr<ReclaimableMemory> memory() const { return bytes_; }

 private:
  struct Late {
    size_t partition;
    uint64_t offset_hash;
  };
  struct Shelved {
    LogRecord record;
    std::optional<std::list<Late>::iterator> late = {};  // set once the stream has released it
  };
  struct Partition {
    uint64_t first_note = 0;  // number of the first element of `notes`
    std::deque<RecordNote> notes;
    std::vector<uint64_t> fetched;                  // for each rank: how many notes it has fetched
    std::unordered_map<uint64_t, Shelved> records;  // by hash_of() their offsets
  };
  void add_note(size_t number, RecordNote note) FOREBAY_REQUIRES(mutex_);
  void drop_notes(Partition& partition, uint64_t below) FOREBAY_REQUIRES(mutex_);
  std::optional<Shelved> extract(size_t partition, uint64_t offset_hash) FOREBAY_REQUIRES(mutex_);
  void trim_late() FOREBAY_REQUIRES(mutex_);
  void update_bytes() FOREBAY_REQUIRES(mutex_) { bytes_->set(head_bytes_ + late_bytes_ + note_bytes_); }

  const int rank_, ranks_;
  const Limits limits_;
  const std::shared_ptr<StreamBytes> bytes_;
  mutable Mutex mutex_;
  uint64_t run_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::vector<Partition> partitions_ FOREBAY_GUARDED_BY(mutex_);
  std::list<Late> late_ FOREBAY_GUARDED_BY(mutex_);  // the late records, oldest first
  // Bytes of all records without their payloads, of the payloads of late records, and of notes.
  uint64_t head_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t late_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t note_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
