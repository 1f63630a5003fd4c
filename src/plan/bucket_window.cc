#include "plan/bucket_window.h"

#include <algorithm>
#include <bit>

#include "plan/batch_arrangement.h"
#include "plan/bucket_cuts.h"

namespace forebay {

namespace {

// Sorts first by rounded length, the longest first, then by position. The bits of positive floats
// are ordered as the floats are.
uint64_t sort_key(float rounded, size_t position) {
  return uint64_t{~std::bit_cast<uint32_t>(rounded)} << 32 | position;
}

float length_of(uint64_t key) { return std::bit_cast<float>(~static_cast<uint32_t>(key >> 32)); }

}  // namespace

BucketWindow plan_window(std::span<const float> lengths, const BucketRules& rules, int64_t group,
                         const PermutationKey& key) {
  std::vector<uint64_t> keys;
  keys.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) keys.push_back(sort_key(rules.rounded(lengths[i]), i));
  std::ranges::sort(keys);
  std::vector<float> sorted;
  sorted.reserve(keys.size());
  for (const uint64_t each : keys) sorted.push_back(length_of(each));
  const std::vector<uint32_t> cuts = cut_batches(sorted, rules, group);
  BucketWindow window;
  window.samples.reserve(keys.size());
  for (const uint32_t batch : arrange_batches(costs_of(sorted, cuts, rules), group, key)) {
    window.begins.push_back(static_cast<uint32_t>(window.samples.size()));
    for (uint32_t i = cuts[batch]; i < cuts[batch + 1]; ++i) window.samples.push_back(static_cast<uint32_t>(keys[i]));
    std::sort(window.samples.begin() + window.begins.back(), window.samples.end());
  }
  window.begins.push_back(static_cast<uint32_t>(window.samples.size()));
  return window;
}

}  // namespace forebay
