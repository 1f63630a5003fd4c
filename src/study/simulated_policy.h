#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/simulation.h"
#include "plan/order.h"
#include "study/simulated_steps.h"

namespace forebay {

/// How hosts cache samples, and how ranks share them, in a simulated run.
enum class SimulatedPolicy : uint8_t {
  kLocal,        ///< each host caches what it reads first, and ranks get the rows that their host caches
  kCount,        ///< the same caches, but ranks get rows by position, so most come from peers
  kRegular,      ///< no caches: all rows come from storage
  kClairvoyant,  ///< each host caches the rows that it needs most often in all epochs
};

/// Sample sizes from a log-normal distribution. A sample's number determines its size.
class DrawnSizes {
 public:
  DrawnSizes(double mean, double spread, uint64_t seed);
  double of(int64_t id) const;

 private:
  std::vector<double> quantiles_;
  uint64_t seed_;
};

/// Sizes of the samples of one data set: mean in bytes, and standard deviation of log(size).
struct SampleSizes {
  double mean = 0, spread = 0;
};

/// The samples of a pipeline that is more than one shuffled data set: several as one, repeats, draws.
struct SimulatedParts {
  std::shared_ptr<const Order> order;
  std::vector<int64_t> begins;     ///< the id of the first sample of each leaf of the plan, and the end of all
  std::vector<SampleSizes> sizes;  ///< by leaf
  std::shared_ptr<const BatchEnds> like_lengths = nullptr;  ///< null: batches of one size

  size_t leaf_of(int64_t id) const;
};

/// Number of rows that fit into the memory of a host, and into its memory and disk.
struct RowsThatFit {
  int64_t in_ram = 0, in_all = 0;
};
RowsThatFit rows_that_fit(const SimulationOptions& options);

/// Returns the share of its rows that a host finds in its own cache, if it caches a share
/// `share_a_host` of all samples, chosen as those that it needs most often in `epochs` epochs.
double clairvoyant_hits(double share_a_host, int64_t hosts, int64_t epochs);

/// Simulates the epochs with the plan's own order, shard assignment and placement. `options` are
/// complete. Without `parts`, the samples are those of one data set that is shuffled.
SimulatedRun run_virtually(SimulatedPolicy policy, const SimulationOptions& options, const SimulatedParts* parts);
/// Returns the share of an epoch that is simulated.
double share_gone_through(const SimulationOptions& options);

}  // namespace forebay
