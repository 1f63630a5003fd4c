#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/mix_steps.h"
#include "plan/permutation.h"
#include "plan/window_counts.h"

namespace forebay {

/// Counts of a mix. Each step has a table of the draws that each child has made at the end of each
/// window of the first period; later periods repeat it.
class MixCounts final : public WindowCounts {
 public:
  /// Windows are arranged by children of `windows`, as in WindowedNode. `drawn`: draws of each child
  /// before the first step. Positions before that step count as its first one.
  MixCounts(const std::vector<MixStep>& steps, std::vector<int64_t> drawn, const PermutationKey& windows);

  Window window_holding(int64_t position) const override;
  std::vector<Part> parts(const Window& window) const override;
  int64_t draws_before(size_t child, const Window& window) const override;
  int64_t position_near(size_t child, int64_t draw) const override;

 private:
  static constexpr int64_t kWindowsOfPeriod = kMixPeriod / kSize;
  struct Step {
    int64_t begin = 0, end = 0;
    std::vector<int64_t> weights;
    std::vector<int64_t> drawn;  // by each child before the step
    // Row j, a number for each child: its draws in the first j windows. As many rows as a period
    // has windows, or as the step needs.
    std::vector<uint16_t> table;

    int64_t row(size_t child, int64_t window) const {
      return table[static_cast<size_t>(window) * weights.size() + child];
    }
    // The draws of the child in the first windows of the step.
    int64_t in_windows(size_t child, int64_t windows) const {
      return windows / kWindowsOfPeriod * weights[child] + row(child, windows % kWindowsOfPeriod);
    }
  };
  const Step& step_holding(int64_t position) const;
  std::vector<int64_t> drawn_after(const Step& step, const PermutationKey& windows) const;

  std::vector<Step> steps_;
};

}  // namespace forebay
