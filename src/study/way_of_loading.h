#pragma once

#include <cstdint>
#include <memory>

#include "forebay/simulation.h"

namespace forebay {

enum class WayOfLoading : uint8_t { kLocal, kCount, kRegular, kClairvoyant };

/// Sizes that are drawn from a log-normal distribution, each by the number of its sample.
class DrawnSizes {
 public:
  DrawnSizes(double mean, double spread, uint64_t seed);
  double of(int64_t id) const;

 private:
  std::vector<double> quantiles_;
  uint64_t seed_;
};

/// Of each host, how many rows fit into its memory, and into memory and disk.
struct RowsThatFit {
  int64_t in_ram = 0, in_all = 0;
};
RowsThatFit rows_that_fit(const SimulationOptions& options);

/// What a host that keeps so large a share of all samples, those that it asks for most in so many epochs, finds at home of what it asks for.
double clairvoyant_hits(double share_a_host, int64_t hosts, int64_t epochs);

/// Epochs through the plan's own order, deal and placement. `options` are complete.
SimulatedRun run_virtually(WayOfLoading way, const SimulationOptions& options);
/// How much of an epoch that goes through.
double share_gone_through(const SimulationOptions& options);

}  // namespace forebay
