#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "forebay/result.h"
#include "stream/decision.h"
#include "stream/record_log.h"
#include "stream/stream_options.h"

namespace forebay {

/// The records of a stream that have arrived and are in no decision yet, in order within each
/// partition. Implementations differ in the records that they drop (BufferPolicy). Owned by a
/// Decider; used by one thread at a time.
class WaitingRecords {
 public:
  virtual ~WaitingRecords() = default;

  /// Adds a record that comes after the last one of its partition.
  virtual Status add(LogRecord record) = 0;
  /// Whether more of a partition should be read now, while decided records take that many bytes.
  /// `awaited`: the trainer waits for the next decision.
  virtual bool should_read(size_t partition, uint64_t in_decisions, bool awaited) const = 0;
  /// Bytes of these records in memory.
  virtual uint64_t bytes() const = 0;
  /// The number of records of each partition that a decision could take now.
  virtual std::vector<size_t> counts() const = 0;

  /// The records of a decision, and its parts. A partition without taken or dropped records has no
  /// part.
  struct Taken {
    std::vector<DecisionPart> parts;
    std::vector<std::vector<LogRecord>> records;  ///< of each partition
  };
  /// Takes the next counts[p] records of each partition. A sample is always taken as a whole.
  virtual Result<Taken> take(const std::vector<size_t>& counts) = 0;
  /// Takes the records of a decision that was made before or elsewhere. Nothing while some of them
  /// have not arrived; Corrupt if the partitions now have other records.
  virtual Result<std::optional<Taken>> take(const Decision& decided) = 0;
  /// Begins the decision whose first record has that number. `decided`: that decision, if it was
  /// made before or elsewhere.
  virtual Status begin_decision(int64_t first, const std::optional<Decision>& decided) = 0;
};

/// Waiting records in queues, for all policies but kSample. `decides`: they may drop records
/// themselves, and not only those that a given decision drops.
std::unique_ptr<WaitingRecords> make_waiting_queues(const StreamOptions& options, size_t partitions, bool decides);
/// A sample of the records that arrived since the last decision, for kSample. Without `decides`, no
/// record enters it before the decision is known.
std::unique_ptr<WaitingRecords> make_waiting_sample(const StreamOptions& options, size_t partitions, bool decides);

}  // namespace forebay
