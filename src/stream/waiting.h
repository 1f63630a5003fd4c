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

/// Records that have arrived and are in no decision yet, of each partition in its order. For one thread at a time.
class Waiting {
 public:
  virtual ~Waiting() = default;

  /// A record that came behind the last one of its partition.
  virtual Status add(LogRecord record) = 0;
  /// Whether more of a partition should be read now, with so many bytes in decisions; `awaited`: somebody waits for the next decision.
  virtual bool wants(size_t partition, uint64_t in_decisions, bool awaited) const = 0;
  /// What they take in memory.
  virtual uint64_t bytes() const = 0;
  /// Of each partition, how many a decision could have now.
  virtual std::vector<size_t> counts() const = 0;

  /// The next decision's records: counts[p] of each partition, with the parts that say so (partitions that give nothing and drop nothing are missing).
  struct Taken {
    std::vector<DecisionPart> parts;
    std::vector<std::vector<LogRecord>> records;  ///< of each partition
  };
  virtual Result<Taken> take(const std::vector<size_t>& counts) = 0;
  /// The records of a decision that was decided before, or elsewhere. Nothing as long as some have not arrived; Corrupt where the partitions have
  /// others now.
  virtual Result<std::optional<Taken>> take(const Decision& decided) = 0;
  /// The next records will be of the decision that begins with that number; `decided`: which, where that is known before.
  virtual Status begin_decision(int64_t first, const std::optional<Decision>& decided) = 0;
};

/// The records of so many partitions that wait, as the options' policy says: in queues, or with kSample as a sample. One that does not decide
/// (`decides`) drops no record before it is told.
std::unique_ptr<Waiting> waiting_in_queues(const StreamOptions& options, size_t partitions, bool decides);
std::unique_ptr<Waiting> waiting_sampled(const StreamOptions& options, size_t partitions, bool decides);

}  // namespace forebay
