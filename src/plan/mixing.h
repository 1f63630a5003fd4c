#pragma once

#include <cstdint>
#include <vector>

#include "plan/order.h"

namespace forebay {

/// How well an order mixes rows that are stored together. Estimated from a sample of the rows and
/// batches of an epoch.
struct Mixing {
  /// Mean distance between the positions of rows stored next to each other (ids i and i + 1),
  /// relative to a flat shuffle, where it is (n + 1) / 3. 1 means as far apart as in a flat
  /// shuffle, 0 that they stay together.
  double distance = 0;
  /// Mean number of chunks that the rows of a batch come from, and the mean share of the rows that
  /// the most frequent chunk of a batch gives.
  double chunks = 0;
  double largest_share = 0;
};

struct MixingOptions {
  std::vector<int64_t> chunk_rows;  ///< in order of ids, as in BlockwiseOptions
  int64_t batch = 1;                ///< rows of a global batch, over all ranks
  int64_t epoch = 0;
};

/// Measures 20,000 pairs of rows and 256 batches (fewer if they are large: 2^20 rows in all), or
/// all of them in a small data set. All figures are 0 if there are fewer than two rows. The order
/// must have as many rows as the chunks.
Mixing measure_mixing(const Order& order, const MixingOptions& options);

/// Figures of a blockwise order that mixes this many chunks, or of a flat shuffle if `block` is 0.
struct MixingRow {
  int64_t block = 0;
  Mixing mixing;
};
/// Rows for block = 1, 2, 4, 8, 16, 32, the block in use and all chunks, ascending, as far as there
/// are that many chunks; then the flat shuffle.
Result<std::vector<MixingRow>> mixing_table(const MixingOptions& options, int64_t block, int64_t lanes, uint64_t seed);

}  // namespace forebay
