#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "forebay/result.h"
#include "stream/decision.h"
#include "stream/record_log.h"
#include "stream/record_queue.h"

namespace forebay {

/// What becomes of records that arrive faster than training takes them.
enum class BufferPolicy : uint8_t {
  kBlock,       ///< nothing is read that there is no room for: they wait where they are
  kDropOldest,  ///< the oldest that no decision has taken go
  kSample,      ///< of what arrived since the last decision, a uniform sample of a decision's size stays
  kSpill,       ///< they go to disk and come back in order
};

/// What stands in for records that have not come when training needs them.
enum class OnUnderrun : uint8_t {
  kWait,      ///< nothing: training waits
  kRepeat,    ///< the records of the latest step that had new ones
  kRehearse,  ///< what a rehearsal keeps
};

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
  /// How many have arrived of a partition since the last decision that are still known one by one or counted, those dropped included.
  virtual int64_t arrived(size_t partition) const = 0;

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
  virtual Status begin_decision(int64_t first, const Decision* decided) = 0;
};

struct WaitingOptions {
  size_t partitions = 1;
  size_t decision_records = 1;  ///< records
  uint64_t bytes = uint64_t{64} << 20;
  uint64_t seed = 0;
};

/// kBlock, or kDropOldest where `oldest_go`, or kSpill where there is `space` for it.
std::unique_ptr<Waiting> waiting_in_queues(const WaitingOptions& options, bool oldest_go,
                                           std::shared_ptr<SpillSpace> space = nullptr);
/// kSample. Where it does not decide itself which records a decision has, it takes none before it is told.
std::unique_ptr<Waiting> waiting_sampled(const WaitingOptions& options, bool decides);

}  // namespace forebay
