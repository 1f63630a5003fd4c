#include "plan/bucket_window.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "plan/batch_arrangement.h"
#include "plan/bucket_cuts.h"

namespace forebay {

namespace {

// Sorts first by rounded length, the longest first, then by position. The bits of positive floats
// are ordered as the floats are.
uint64_t sort_key(float rounded, size_t position) {
  return uint64_t{~std::bit_cast<uint32_t>(rounded)} << 32 | position;
}

// Sorts keys that are in the order of positions, digit by digit: the lengths of a window have few
// values, so most digits are alike and take no pass.
void sort_by_length(std::vector<uint64_t>& keys) {
  constexpr int kBits = 11;
  std::vector<uint64_t> sorted(keys.size());
  for (int shift = 32; shift < 64; shift += kBits) {
    const auto digit = [shift](uint64_t key) { return key >> shift & ((1u << kBits) - 1); };
    std::array<uint32_t, (1 << kBits) + 1> ends{};
    for (const uint64_t key : keys) ++ends[digit(key) + 1];
    if (!keys.empty() && ends[digit(keys.front()) + 1] == keys.size()) continue;
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (const uint64_t key : keys) sorted[ends[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

float length_of(uint64_t key) { return std::bit_cast<float>(~static_cast<uint32_t>(key >> 32)); }

}  // namespace

BucketWindow plan_window(std::span<const float> lengths, const BucketRules& rules, int64_t group,
                         const PermutationKey& key) {
  std::vector<uint64_t> keys;
  keys.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) keys.push_back(sort_key(rules.rounded(lengths[i]), i));
  sort_by_length(keys);
  std::vector<float> sorted;
  sorted.reserve(keys.size());
  for (const uint64_t each : keys) sorted.push_back(length_of(each));
  const std::vector<uint32_t> cuts = cut_batches(sorted, rules, group);
  BucketWindow window;
  window.begins.reserve(cuts.size());
  std::vector<uint32_t> next(cuts.size() - 1);  // index of the next sample of each batch
  uint32_t end = 0;
  for (const uint32_t batch : arrange_batches(costs_of(sorted, cuts, rules), group, key)) {
    window.begins.push_back(end);
    next[batch] = end;
    end += cuts[batch + 1] - cuts[batch];
  }
  window.begins.push_back(end);
  // Goes through the positions in order, so that no batch has to be sorted.
  std::vector<uint32_t> batch_at(keys.size());
  for (uint32_t batch = 0; batch < next.size(); ++batch)
    for (uint32_t i = cuts[batch]; i < cuts[batch + 1]; ++i) batch_at[static_cast<uint32_t>(keys[i])] = batch;
  window.samples.resize(keys.size());
  for (uint32_t position = 0; position < batch_at.size(); ++position)
    window.samples[next[batch_at[position]]++] = position;
  return window;
}

}  // namespace forebay
