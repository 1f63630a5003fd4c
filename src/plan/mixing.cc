#include "plan/mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

namespace forebay {
namespace {

constexpr int64_t kMaxPairs = 20'000, kMaxBatches = 256, kMostRows = 1 << 20;

// The `index`-th of `take` places among `all`: every place, or places spread by the golden ratio,
// which is not in phase with any size of chunks or blocks.
int64_t spread(int64_t index, int64_t take, int64_t all) {
  if (take == all) return index;
  __extension__ using Product = unsigned __int128;
  const uint64_t fraction = static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u;
  return static_cast<int64_t>(static_cast<Product>(fraction) * static_cast<uint64_t>(all) >> 64);
}

double mean_distance(const Order& order, int64_t epoch) {
  const int64_t pairs = order.size() - 1, taken = std::min(pairs, kMaxPairs);
  double sum = 0;
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t id = spread(i, taken, pairs);
    sum += std::abs(static_cast<double>(order.position_of(epoch, id)) -
                    static_cast<double>(order.position_of(epoch, id + 1)));
  }
  return sum / static_cast<double>(taken);
}

std::vector<int64_t> chunk_ends(const std::vector<int64_t>& chunk_rows) {
  std::vector<int64_t> ends(chunk_rows.size());
  std::partial_sum(chunk_rows.begin(), chunk_rows.end(), ends.begin());
  return ends;
}

void measure_batches(const Order& order, const MixingOptions& options, Mixing& mixing) {
  // A larger batch is measured by parts of this size.
  const int64_t rows = std::min({options.batch, order.size(), kMostRows});
  const int64_t batches = order.size() / rows, taken = std::min({batches, kMaxBatches, kMostRows / rows});
  const std::vector<int64_t> ends = chunk_ends(options.chunk_rows);
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  for (int64_t i = 0; i < taken; ++i) {
    order.ids_at(options.epoch, spread(i, taken, batches) * rows, ids);
    std::unordered_map<int64_t, int64_t> counts;
    int64_t largest = 0;
    for (const int64_t id : ids)
      largest = std::max(largest, ++counts[std::upper_bound(ends.begin(), ends.end(), id) - ends.begin()]);
    mixing.chunks += static_cast<double>(counts.size());
    mixing.largest_share += static_cast<double>(largest) / static_cast<double>(rows);
  }
  mixing.chunks /= static_cast<double>(taken);
  mixing.largest_share /= static_cast<double>(taken);
}

}  // namespace

Mixing measure_mixing(const Order& order, const MixingOptions& options) {
  Mixing mixing;
  if (order.size() < 2) return mixing;
  mixing.distance = mean_distance(order, options.epoch) / ((static_cast<double>(order.size()) + 1) / 3);
  measure_batches(order, options, mixing);
  return mixing;
}

Result<std::vector<MixingRow>> mixing_table(const MixingOptions& options, int64_t block, int64_t lanes, uint64_t seed) {
  if (options.batch < 1) return invalid_argument("a batch has at least 1 row");
  const int64_t chunks = std::max<int64_t>(1, static_cast<int64_t>(options.chunk_rows.size()));
  std::set<int64_t> blocks = {std::min(block, chunks), chunks};
  for (int64_t some = 1; some <= std::min<int64_t>(chunks, 32); some *= 2) blocks.insert(some);
  std::vector<MixingRow> rows;
  for (const int64_t mixed : blocks) {
    FOREBAY_ASSIGN(const auto order, blockwise_order({options.chunk_rows, mixed, lanes, seed}));
    rows.push_back({mixed, measure_mixing(*order, options)});
  }
  const int64_t all = std::accumulate(options.chunk_rows.begin(), options.chunk_rows.end(), int64_t{0});
  rows.push_back({0, measure_mixing(*shuffled_order(all, seed), options)});
  return rows;
}

}  // namespace forebay
