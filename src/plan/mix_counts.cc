#include "plan/mix_counts.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>
#include <utility>

#include "base/part_search.h"
#include "plan/mixed_window.h"
#include "plan/numbering.h"

namespace forebay {
namespace {

// A child whose share has passed a whole number, so that it may make the next draw now or later.
struct Candidate {
  int64_t draws = 0;  // with that one
  int64_t weight = 0;
  int64_t part = 0;  // of the share that is reached, of the period
  size_t child = 0;
};

// The share reaches `draws` at draws × period / weight, which is when the draw must have been made.
bool is_due_earlier(const Candidate& a, const Candidate& b) {
  const int64_t left = a.draws * b.weight, right = b.draws * a.weight;
  return left != right ? left < right : a.child < b.child;
}

// Advances `drawn` to the end of the row-th window. Each child has made ⌊share⌋ or ⌈share⌉ draws
// there; of those between, the first ones by `is_before` have made one more.
template <typename IsBefore>
void advance(const std::vector<int64_t>& weights, int64_t row, std::vector<int64_t>* drawn, IsBefore is_before) {
  std::vector<Candidate> candidates;
  int64_t left = row * WindowCounts::kSize;
  for (size_t child = 0; child < weights.size(); ++child) {
    const int64_t share = row * WindowCounts::kSize * weights[child];
    const int64_t whole = share / kMixPeriod;
    (*drawn)[child] = std::max((*drawn)[child], whole);
    left -= (*drawn)[child];
    if ((*drawn)[child] == whole && share % kMixPeriod > 0)
      candidates.push_back({whole + 1, weights[child], share % kMixPeriod, child});
  }
  assert(left >= 0 && left <= static_cast<int64_t>(candidates.size()));
  const auto chosen = candidates.begin() + left;
  std::nth_element(candidates.begin(), chosen, candidates.end(), is_before);
  std::for_each(candidates.begin(), chosen, [&](const Candidate& candidate) { ++(*drawn)[candidate.child]; });
}

// Tijdeman's rule for whole windows: of the draws whose share has begun at the end of a window, it
// has those that must have been made the earliest. A draw's share begins when that of the one
// before is reached. So at the end of every window each child has made ⌊share⌋ or ⌈share⌉ draws: a
// schedule like that exists for single positions, and a rule by deadlines finds one if there is
// one, also for windows. Counts of one child never become less.
//
// At the end of a step nothing has to be made later, and the rule would prefer the same children in
// each step of a ramp. If `behind` is not empty, the last row prefers children that are behind.
std::vector<uint16_t> table_of_counts(const std::vector<int64_t>& weights, int64_t rows,
                                      const std::vector<int64_t>& behind) {
  std::vector<uint16_t> table(static_cast<size_t>(rows) * weights.size());
  std::vector<int64_t> drawn(weights.size());
  const auto most_behind = [&](const Candidate& a, const Candidate& b) {
    const int64_t left = behind[a.child] + a.part, right = behind[b.child] + b.part;
    return left != right ? left > right : a.child < b.child;
  };
  for (int64_t row = 1; row < rows; ++row) {
    if (row == rows - 1 && !behind.empty()) {
      advance(weights, row, &drawn, most_behind);
    } else {
      advance(weights, row, &drawn, is_due_earlier);
    }
    std::copy(drawn.begin(), drawn.end(), table.begin() + row * static_cast<std::ptrdiff_t>(weights.size()));
  }
  return table;
}

}  // namespace

MixCounts::MixCounts(const std::vector<MixStep>& steps, std::vector<int64_t> drawn, const PermutationKey& windows) {
  steps_.reserve(steps.size());
  std::vector<int64_t> behind(drawn.size());  // shares of all steps without the draws, of the period
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::vector<int64_t>& weights = steps[i].weights;
    const int64_t end = i + 1 < steps.size() ? steps[i + 1].from : Numbering::kNever, length = end - steps[i].from;
    // One row for the beginning of each window, and one for the end of the last. A step of a
    // period leaves nobody behind.
    const int64_t rows = std::min(kWindowsOfPeriod, (length + kSize - 1) / kSize + 1);
    const bool evens_out = steps[i].in_ramp && length % kSize == 0 && length < kMixPeriod;
    steps_.push_back({steps[i].from, end, weights, drawn,
                      table_of_counts(weights, rows, evens_out ? behind : std::vector<int64_t>())});
    if (i + 1 == steps.size()) break;
    drawn = drawn_after(steps_.back(), windows);
    // The products may overflow; the differences are small.
    for (size_t child = 0; child < drawn.size(); ++child)
      behind[child] +=
          static_cast<int64_t>(static_cast<uint64_t>(weights[child]) * static_cast<uint64_t>(length) -
                               static_cast<uint64_t>(drawn[child] - steps_.back().drawn[child]) * kMixPeriod);
  }
}

std::vector<int64_t> MixCounts::drawn_after(const Step& step, const PermutationKey& windows) const {
  std::vector<int64_t> drawn = step.drawn;
  const int64_t length = step.end - step.begin;
  for (size_t child = 0; child < drawn.size(); ++child) drawn[child] += step.in_windows(child, length / kSize);
  if (length % kSize == 0) return drawn;
  const Window cut = window_holding(step.end - 1);
  const MixedWindow mixed(cut, parts(cut), windows.child(cut.begin));
  mixed.for_each_child(cut.begin, cut.end, [&](size_t child, int64_t, std::span<const uint16_t> places) {
    drawn[child] += static_cast<int64_t>(places.size());
  });
  return drawn;
}

const MixCounts::Step& MixCounts::step_holding(int64_t position) const {
  return steps_[part_holding(std::span<const Step>(steps_), position, [](const Step& step) { return step.begin; })];
}

WindowCounts::Window MixCounts::window_holding(int64_t position) const {
  const Step& step = step_holding(position);
  position = std::max(position, step.begin);
  const int64_t begin = position - (position - step.begin) % kSize;
  return {begin, std::min(begin + kSize, step.end), begin + kSize};
}

std::vector<WindowCounts::Part> MixCounts::parts(const Window& window) const {
  const Step& step = step_holding(window.begin);
  const int64_t number = (window.begin - step.begin) / kSize;
  std::vector<Part> parts;
  for (size_t child = 0; child < step.weights.size(); ++child) {
    const int64_t first = step.in_windows(child, number), end = step.in_windows(child, number + 1);
    if (end > first) parts.push_back({child, step.drawn[child] + first, end - first});
  }
  return parts;
}

int64_t MixCounts::draws_before(size_t child, const Window& window) const {
  const Step& step = step_holding(window.begin);
  return step.drawn[child] + step.in_windows(child, (window.begin - step.begin) / kSize);
}

int64_t MixCounts::position_near(size_t child, int64_t draw) const {
  if (draw < steps_.front().drawn[child]) return kBefore;
  // Of several steps before which as many were drawn, only the last one may have the draw.
  const Step& step = steps_[part_holding(std::span<const Step>(steps_), draw,
                                         [child](const Step& other) { return other.drawn[child]; })];
  const int64_t weight = step.weights[child];
  if (weight == 0) return Numbering::kNever;
  const int64_t period = (draw - step.drawn[child]) / weight, rest = (draw - step.drawn[child]) % weight;
  if (period >= (Numbering::kNever - step.begin) / kMixPeriod) return Numbering::kNever;
  // The last window before which at most `rest` draws were made.
  int64_t window = 0, end = static_cast<int64_t>(step.table.size() / step.weights.size());
  while (end - window > 1) {
    const int64_t middle = (window + end) / 2;
    (step.row(child, middle) <= rest ? window : end) = middle;
  }
  return step.begin + period * kMixPeriod + window * kSize;
}

}  // namespace forebay
