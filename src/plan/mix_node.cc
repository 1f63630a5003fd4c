#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/continued_mix.h"
#include "plan/mix_counts.h"
#include "plan/mix_steps.h"
#include "plan/windowed_node.h"

namespace forebay {
namespace {

Status check_weight(const MixOptions& options, size_t stage, size_t child, int64_t child_size) {
  const double weight = options.stages[stage].weights[child];
  const std::string where = "stage " + std::to_string(stage) + " of a mix: the weight of part " + std::to_string(child);
  if (!std::isfinite(weight) || weight < 0)
    return invalid_argument(where + " is " + std::to_string(weight) + "; weights are finite and at least 0");
  if (weight > 0 && child_size == 0)
    return invalid_argument(where + " is above 0, but the part has no samples; give it the weight 0 or leave it out");
  return {};
}

// The number of children that have a weight above 0 in one of the two.
int64_t weights_above_0(const MixOptions::Stage& a, const MixOptions::Stage& b) {
  int64_t count = 0;
  for (size_t child = 0; child < a.weights.size(); ++child) count += a.weights[child] > 0 || b.weights[child] > 0;
  return count;
}

Status check_stage(const std::vector<std::unique_ptr<PlanNode>>& children, const MixOptions& options, size_t number) {
  const MixOptions::Stage& stage = options.stages[number];
  const std::string where = "stage " + std::to_string(number) + " of a mix";
  if (number > 0 && stage.from <= options.stages[number - 1].from)
    return invalid_argument(where + " begins at " + std::to_string(stage.from) + ", and the one before at " +
                            std::to_string(options.stages[number - 1].from) + "; stages are in ascending order");
  if (stage.from >= Numbering::kNever) return invalid_argument(where + " begins at 2^62 or later");
  if (stage.weights.size() != children.size())
    return invalid_argument(where + " has " + std::to_string(stage.weights.size()) + " weights for " +
                            std::to_string(children.size()) + " parts");
  for (size_t child = 0; child < children.size(); ++child)
    FOREBAY_RETURN_IF_ERROR(check_weight(options, number, child, children[child]->size()));
  if (weights_above_0(stage, stage) == 0)
    return invalid_argument(where + ": all weights are 0; at least one part needs a weight");
  // In a ramp, the parts of both its stages have weights.
  const bool ramp = options.ramp_linear && number > 0;
  const int64_t positive = weights_above_0(stage, ramp ? options.stages[number - 1] : stage);
  if (positive > kMixPeriod)
    return invalid_argument(where + (ramp ? " and the one before have " : " has ") + std::to_string(positive) +
                            " parts with a weight above 0; at most 65536 are possible");
  return {};
}

Status check(const std::vector<std::unique_ptr<PlanNode>>& children, const MixOptions& options) {
  if (children.empty()) return invalid_argument("a mix has no parts; name at least one");
  if (options.stages.empty()) return invalid_argument("a mix has no stages; give the weights from position 0 on");
  for (size_t stage = 0; stage < options.stages.size(); ++stage)
    FOREBAY_RETURN_IF_ERROR(check_stage(children, options, stage));
  if (options.samples < 0 || options.samples >= Numbering::kNever)
    return invalid_argument("an epoch of a mix has samples=" + std::to_string(options.samples) +
                            "; it is at least 0 and below 2^62");
  return {};
}

Status check_beginning(const MixOptions& options) {
  const int64_t from = options.stages.front().from;
  if (from == 0) return {};
  return invalid_argument("stage 0 of a mix begins at " + std::to_string(from) + "; the first stage begins at 0");
}

Status check_continued(const MixOptions& options, size_t children, const std::vector<int64_t>& drawn) {
  if (options.samples == 0) return invalid_argument("a mix that goes on with earlier draws needs samples=");
  if (options.stages.front().from < 0)
    return invalid_argument("stage 0 of a mix begins at " + std::to_string(options.stages.front().from) +
                            "; positions are 0 or larger");
  if (drawn.size() != children)
    return invalid_argument("a mix goes on with the draws of " + std::to_string(drawn.size()) + " parts, and has " +
                            std::to_string(children));
  for (const int64_t made : drawn)
    if (made < 0 || made >= Numbering::kNever / 2)
      return invalid_argument("a part of a mix has made " + std::to_string(made) +
                              " draws; it is at least 0 and below 2^61");
  return {};
}

bool has_weight(const MixOptions& options, size_t child) {
  return std::any_of(options.stages.begin(), options.stages.end(),
                     [child](const MixOptions::Stage& stage) { return stage.weights[child] > 0; });
}

// A draw that decides where an epoch ends.
struct LastDraw {
  size_t child = 0;
  int64_t draw = 0;
  int64_t near = 0;  // a position in its window
};

// The first or the last of the draws, whose windows are then arranged: not those of all draws,
// since there may be many children.
int64_t extreme_position(const MixCounts& counts, const PermutationKey& windows, const std::vector<LastDraw>& draws,
                         bool first) {
  const auto by_window = [](const LastDraw& a, const LastDraw& b) { return a.near < b.near; };
  const int64_t near = (first ? std::min_element(draws.begin(), draws.end(), by_window)
                              : std::max_element(draws.begin(), draws.end(), by_window))
                           ->near;
  if (near == Numbering::kNever) return near;
  const WindowCounts::Window window = counts.window_holding(near);
  const MixedWindow mixed(window, counts.parts(window), windows.child(window.begin));
  int64_t extreme = -1;
  for (const LastDraw& draw : draws) {
    if (draw.near != near) continue;
    const int64_t position = mixed.position_of(draw.child, draw.draw);
    if (extreme < 0 || (position < extreme) == first) extreme = position;
  }
  return extreme;
}

Result<int64_t> epoch_size(const std::vector<std::unique_ptr<PlanNode>>& children, const MixOptions& options,
                           const MixCounts& counts, const PermutationKey& windows) {
  if (options.samples > 0) return options.samples;
  const bool first = options.end == MixEnd::kFirst;
  std::vector<LastDraw> draws;
  for (size_t child = 0; child < children.size(); ++child) {
    if (!has_weight(options, child)) continue;
    const int64_t draw = first ? children[child]->size() : children[child]->size() - 1;
    draws.push_back({child, draw, counts.position_near(child, draw)});
    if (!first && draws.back().near == Numbering::kNever)
      return invalid_argument("a mix ends when all parts were passed once, but part " + std::to_string(child) +
                              " never is: its weight in the last stage is 0 or too small; give the number of samples");
  }
  const int64_t position = extreme_position(counts, windows, draws, first);
  if (position == Numbering::kNever) return invalid_argument("an epoch of a mix has 2^62 samples or more");
  return first ? position : position + 1;
}

// The options have been checked.
Result<std::unique_ptr<PlanNode>> make_node(std::vector<std::unique_ptr<PlanNode>> children, const MixOptions& options,
                                            const std::vector<int64_t>& drawn) {
  const PermutationKey windows = PermutationKey::root(options.seed, PermutationKey::Use::kMixWindow);
  auto counts = std::make_unique<const MixCounts>(mix_steps(options), drawn, windows);
  FOREBAY_ASSIGN(const int64_t size, epoch_size(children, options, *counts, windows));
  return std::unique_ptr<PlanNode>(
      std::make_unique<WindowedNode>(std::move(children), std::move(counts), windows, size));
}

}  // namespace

Result<std::unique_ptr<PlanNode>> mix_node(std::vector<std::unique_ptr<PlanNode>> children, const MixOptions& options) {
  FOREBAY_RETURN_IF_ERROR(check(children, options));
  FOREBAY_RETURN_IF_ERROR(check_beginning(options));
  const std::vector<int64_t> drawn(children.size());
  return make_node(std::move(children), options, drawn);
}

Result<std::unique_ptr<PlanNode>> continued_mix_node(std::vector<std::unique_ptr<PlanNode>> children,
                                                     const MixOptions& options, const std::vector<int64_t>& drawn) {
  FOREBAY_RETURN_IF_ERROR(check(children, options));
  FOREBAY_RETURN_IF_ERROR(check_continued(options, children.size(), drawn));
  return make_node(std::move(children), options, drawn);
}

}  // namespace forebay
