#include "plan/merging.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/permutation.h"

namespace forebay {

namespace {

PermutationKey key_of_decision(uint64_t seed, int64_t first) {
  return PermutationKey::root(seed, PermutationKey::Use::kDecisionOfStream).child(first);
}

}  // namespace

std::vector<MergedRecord> merge_order(uint64_t seed, int64_t first, std::span<const size_t> counts, bool shuffled) {
  std::vector<MergedRecord> order;
  order.reserve(std::accumulate(counts.begin(), counts.end(), size_t{0}));
  for (size_t p = 0; p < counts.size(); ++p) {
    for (size_t i = 0; i < counts[p]; ++i) order.push_back({static_cast<uint32_t>(p), static_cast<uint32_t>(i)});
  }
  const PermutationKey key = key_of_decision(seed, first);
  if (shuffled) {
    std::vector<MergedRecord> mixed(order.size());
    const Permutation permutation(static_cast<int64_t>(order.size()), key);
    for (size_t i = 0; i < order.size(); ++i)
      mixed[i] = order[static_cast<size_t>(permutation.at(static_cast<int64_t>(i)))];
    return mixed;
  }
  // Drawn for each decision, so that no partition comes first in all decisions.
  const auto begins = static_cast<uint32_t>(key.a % std::max<size_t>(counts.size(), 1));
  const auto turn = [&](uint32_t partition) {
    return (partition + static_cast<uint32_t>(counts.size()) - begins) % static_cast<uint32_t>(counts.size());
  };
  // Compares (i + ½) / n without rounding.
  std::sort(order.begin(), order.end(), [&](const MergedRecord& a, const MergedRecord& b) {
    // Cannot overflow with fewer than 2^31 records in a decision; more do not fit into memory.
    const uint64_t left = (2 * uint64_t{a.index} + 1) * counts[b.partition];
    const uint64_t right = (2 * uint64_t{b.index} + 1) * counts[a.partition];
    return left != right ? left < right : turn(a.partition) < turn(b.partition);
  });
  return order;
}

std::vector<size_t> share_of_decision(size_t size, std::span<const size_t> waiting) {
  const size_t all = std::accumulate(waiting.begin(), waiting.end(), size_t{0});
  std::vector<size_t> share(waiting.size());
  std::vector<std::pair<uint64_t, size_t>> rests;  // largest first
  size_t given = 0;
  for (size_t p = 0; p < waiting.size(); ++p) {
    const auto exact = static_cast<unsigned __int128>(size) * waiting[p];
    share[p] = static_cast<size_t>(exact / std::max<size_t>(all, 1));
    rests.emplace_back(static_cast<uint64_t>(exact % std::max<size_t>(all, 1)), p);
    given += share[p];
  }
  std::stable_sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; given < size && i < rests.size(); ++i) {
    // Cannot happen if `waiting` holds at least `size` records; guards against taking more than
    // there are.
    if (share[rests[i].second] == waiting[rests[i].second]) continue;
    ++share[rests[i].second];
    ++given;
  }
  return share;
}

uint64_t sampling_draw(uint64_t seed, int64_t first, uint64_t record) {
  const PermutationKey key = key_of_decision(seed, first);
  const PhiloxCounter drawn = philox4x32({low_word(record), high_word(record), low_word(key.b), high_word(key.b)},
                                         {low_word(key.a), high_word(key.a)});
  return join_words(drawn[0], drawn[1]);
}

}  // namespace forebay
