#include "plan/mix_steps.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace forebay {
namespace {

constexpr int64_t kMostSteps = 100, kWindow = 1024;

// Divided by the largest one first, so that the sum is finite. A share above 0 stays above 0.
std::vector<double> shares_of(std::span<const double> weights) {
  std::vector<double> shares(weights.begin(), weights.end());
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share = share > 0 ? std::max(share / largest, 1e-300) : 0;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// Gives 1 to every weight that would be less, and returns what the others have to be multiplied by
// to fill the rest. A weight may only become too small through those before it, so this is
// repeated.
double fix_small_weights(std::span<const double> shares, std::vector<int64_t>* whole) {
  for (;;) {
    int64_t left = kMixPeriod;
    double sum = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      left -= (*whole)[i];
      if ((*whole)[i] == 0) sum += shares[i];
    }
    const double scale = sum > 0 ? static_cast<double>(left) / sum : 0;
    bool fixed = false;
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] == 0 || (*whole)[i] > 0 || shares[i] * scale >= 1) continue;
      (*whole)[i] = 1;
      fixed = true;
    }
    if (!fixed) return scale;
  }
}

int64_t step_length(int64_t ramp) {
  const int64_t unit = ramp >= kMostSteps * kMixPeriod ? kMixPeriod : kWindow;
  const int64_t least = (ramp + kMostSteps - 1) / kMostSteps;
  return (least + unit - 1) / unit * unit;
}

void add_ramp(const MixOptions::Stage& stage, const MixOptions::Stage& next, std::vector<MixStep>* steps) {
  const std::vector<double> from = shares_of(stage.weights), to = shares_of(next.weights);
  const int64_t ramp = next.from - stage.from, length = step_length(ramp);
  std::vector<double> shares(from.size());
  for (int64_t begin = 0; begin < ramp; begin += length) {
    const int64_t end = std::min(begin + length, ramp);
    const double middle = (static_cast<double>(begin) + static_cast<double>(end)) / 2 / static_cast<double>(ramp);
    for (size_t i = 0; i < shares.size(); ++i) shares[i] = from[i] * (1 - middle) + to[i] * middle;
    steps->push_back({stage.from + begin, whole_weights(shares), true});
  }
}

}  // namespace

std::vector<int64_t> whole_weights(std::span<const double> weights) {
  const std::vector<double> shares = shares_of(weights);
  std::vector<int64_t> whole(shares.size());
  const double scale = fix_small_weights(shares, &whole);
  struct Remainder {
    double part = 0;
    size_t child = 0;
  };
  std::vector<Remainder> remainders;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0 || whole[i] > 0) continue;
    const double exact = shares[i] * scale;
    whole[i] = static_cast<int64_t>(exact);
    remainders.push_back({exact - static_cast<double>(whole[i]), i});
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const Remainder& a, const Remainder& b) { return a.part > b.part; });
  int64_t left = kMixPeriod - std::accumulate(whole.begin(), whole.end(), int64_t{0});
  // More than one round only if rounding of the sum has lost something.
  for (size_t i = 0; left > 0; --left, i = (i + 1) % remainders.size()) ++whole[remainders[i].child];
  for (; left < 0; ++left) --*std::max_element(whole.begin(), whole.end());
  return whole;
}

std::vector<MixStep> mix_steps(const MixOptions& options) {
  std::vector<MixStep> steps;
  for (size_t i = 0; i < options.stages.size(); ++i) {
    const MixOptions::Stage& stage = options.stages[i];
    if (options.ramp_linear && i + 1 < options.stages.size()) {
      add_ramp(stage, options.stages[i + 1], &steps);
    } else {
      steps.push_back({stage.from, whole_weights(stage.weights), false});
    }
  }
  return steps;
}

std::vector<MixOptions::Stage> stages_from(const MixOptions& options, int64_t from) {
  const auto next = std::upper_bound(options.stages.begin(), options.stages.end(), from,
                                     [](int64_t at, const MixOptions::Stage& stage) { return at < stage.from; });
  MixOptions::Stage first = *(next - 1);
  if (options.ramp_linear && next != options.stages.end()) {
    const std::vector<double> begin = shares_of(first.weights), end = shares_of(next->weights);
    const double gone = static_cast<double>(from - first.from) / static_cast<double>(next->from - first.from);
    for (size_t i = 0; i < begin.size(); ++i) first.weights[i] = begin[i] * (1 - gone) + end[i] * gone;
  }
  first.from = from;
  std::vector<MixOptions::Stage> left{std::move(first)};
  left.insert(left.end(), next, options.stages.end());
  return left;
}

}  // namespace forebay
