#include "plan/bucket_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace forebay {

namespace {

// The most samples of one length that fit.
int64_t rows_within_budget(const BucketRules& rules, float length) {
  const double rows = rules.budget / rules.cost_of(length);
  return rows < static_cast<double>(rules.most_rows) ? std::max(static_cast<int64_t>(rows), int64_t{1})
                                                     : rules.most_rows;
}

int64_t count_up_to(std::span<const SampleLengths> lengths, float most) {
  int64_t count = 0;
  for (const SampleLengths& some : lengths) count += std::ranges::count_if(*some, [&](float l) { return l <= most; });
  return count;
}

float shortest(std::span<const SampleLengths> lengths) {
  float found = std::numeric_limits<float>::infinity();
  for (const SampleLengths& some : lengths)
    if (!some->empty()) found = std::min(found, *std::ranges::min_element(*some));
  return found;
}

}  // namespace

size_t BucketRules::bucket_of(float length) const {
  return static_cast<size_t>(std::ranges::upper_bound(boundaries, length) - boundaries.begin());
}

int64_t BucketRules::rows_limit(float length) const {
  const int64_t rows = has_budget() ? rows_within_budget(*this, length) : most_rows;
  return sizes.empty() ? rows : std::min(rows, sizes[bucket_of(length)]);
}

float BucketRules::rounded(float length) const {
  // Keeps six bits behind the first one: positive floats are ordered as their bits are.
  constexpr uint32_t kDropped = (uint32_t{1} << 17) - 1;
  const float up = std::bit_cast<float>((std::bit_cast<uint32_t>(length) + kDropped) & ~kDropped);
  const size_t bucket = bucket_of(length);
  return bucket == boundaries.size() ? up : std::min(up, std::nextafter(boundaries[bucket], 0.0F));
}

int64_t mean_rows(const BucketRules& rules, std::span<const SampleLengths> lengths) {
  double cost = 0, rows = 0, batches = 0;
  for (const SampleLengths& some : lengths) {
    for (const float length : *some) {
      cost += rules.cost_of(length);
      rows += 1;
      if (!rules.has_budget()) batches += 1 / static_cast<double>(rules.rows_limit(length));
    }
  }
  if (rules.has_budget()) batches = cost / rules.budget;
  const double mean = rows / std::max(batches, 1.0);
  return std::clamp<int64_t>(static_cast<int64_t>(mean), 1, rules.most_rows);
}

int64_t most_rows_with_repeats(const BucketRules& rules, std::span<const SampleLengths> lengths) {
  const float least = shortest(lengths);
  if (!std::isfinite(least)) return 1;
  if (rules.has_budget()) return rows_within_budget(rules, least);
  return rules.sizes.empty() ? rules.most_rows : std::min(rules.most_rows, *std::ranges::max_element(rules.sizes));
}

// A batch of n samples has none shorter than the n-th shortest of all. So n is at most the number
// of samples up to the length of its longest, and at most what the budget allows at that length.
int64_t most_rows(const BucketRules& rules, std::span<const SampleLengths> lengths) {
  const int64_t at_shortest = most_rows_with_repeats(rules, lengths);
  if (!rules.padded || !rules.has_budget()) return at_shortest;
  // The first length, by the order of the bits of floats, at which there are enough samples.
  uint32_t low = 0, high = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const float length = std::bit_cast<float>(middle);
    if (length > 0 && count_up_to(lengths, length) >= rows_within_budget(rules, length)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const float first = std::bit_cast<float>(low), below = std::nextafter(first, 0.0F);
  const int64_t here = std::isfinite(first) ? rows_within_budget(rules, first) : 1;
  return std::clamp<int64_t>(std::max(here, count_up_to(lengths, below)), 1, at_shortest);
}

}  // namespace forebay
