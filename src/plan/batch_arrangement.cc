#include "plan/batch_arrangement.h"

#include <algorithm>
#include <numeric>

namespace forebay {

namespace {

constexpr double kAlike = 0.015;  // so that two batches differ by 3 % at most

void shuffle(std::span<uint32_t> values, const PermutationKey& key) {
  const std::vector<uint32_t> before(values.begin(), values.end());
  const Permutation permutation(std::ssize(values), key);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = before[static_cast<size_t>(permutation.at(static_cast<int64_t>(i)))];
}

// Shuffles whole groups; what follows the last of them stays in its place.
void shuffle_groups(std::vector<uint32_t>& values, size_t group, const PermutationKey& key) {
  std::vector<uint32_t> groups(values.size() / group);
  std::iota(groups.begin(), groups.end(), 0);
  shuffle(groups, key);
  const std::vector<uint32_t> before = values;
  for (size_t to = 0; to < groups.size(); ++to)
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(groups[to] * group), group,
                values.begin() + static_cast<std::ptrdiff_t>(to * group));
}

}  // namespace

std::vector<uint32_t> arrange_batches(std::span<const double> costs, int64_t group, const PermutationKey& key) {
  std::vector<uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  if (costs.empty()) return order;
  std::ranges::stable_sort(order, {}, [&](uint32_t batch) { return costs[batch]; });
  const double median = costs[order[order.size() / 2]];
  const auto cheaper = [&](double bound) {
    return static_cast<size_t>(std::ranges::count_if(costs, [&](double cost) { return cost < bound; }));
  };
  const auto in_group = static_cast<size_t>(group);
  const size_t whole = order.size() / in_group * in_group;
  const auto whole_groups = [&](size_t batches) { return (batches + in_group - 1) / in_group * in_group; };
  size_t low = whole_groups(cheaper(median * (1 - kAlike)));
  size_t high = whole_groups(order.size() - cheaper(median * (1 + kAlike)));
  if (low + high > whole) {
    low = whole;
    high = 0;
  }
  // Low ones, high ones, and last those that may be anywhere.
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(low), order.end() - static_cast<std::ptrdiff_t>(high),
              order.end());
  shuffle(std::span(order).subspan(low + high), key.child(0));
  shuffle_groups(order, in_group, key.child(1));
  return order;
}

}  // namespace forebay
