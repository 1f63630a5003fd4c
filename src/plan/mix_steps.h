#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/node.h"

namespace forebay {

/// Positions after which the shares of a mix are whole numbers of draws.
constexpr int64_t kMixPeriod = int64_t{1} << 16;

/// A run of positions of a mix with constant weights: a stage, or a step of a ramp.
struct MixStep {
  int64_t from = 0;
  std::vector<int64_t> weights;  ///< of kMixPeriod; they add up to it
  bool in_ramp = false;
};

/// Whole numbers that add up to kMixPeriod, as mix_node() promises. At least one weight is above 0,
/// at most kMixPeriod of them are, and all are finite.
std::vector<int64_t> whole_weights(std::span<const double> weights);

/// The stages, with ramps cut into steps. `options` has been checked.
std::vector<MixStep> mix_steps(const MixOptions& options);

/// The stages that are left at a position of the mix: the first one begins there, with the shares
/// that hold there. In a ramp it goes on to those of the next stage.
std::vector<MixOptions::Stage> stages_from(const MixOptions& options, int64_t from);

}  // namespace forebay
