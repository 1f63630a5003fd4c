#pragma once

#include <cstdint>
#include <vector>

#include "plan/order.h"

namespace forebay {

/// How well an order mixes rows that are stored together. Figures are of a sample of the rows and batches of an epoch.
struct Mixing {
  /// Rows stored side by side (ids i and i + 1): how far apart their positions are on average, as a share of what a flat shuffle gives, (n + 1) / 3. 1:
  /// as far as in a flat shuffle; 0: they stay together.
  double distance = 0;
  /// In a batch: from how many chunks its rows come on average, and the share of them that comes from one chunk more than
  /// from any other.
  double chunks = 0;
  double largest_share = 0;
};

struct MixingOptions {
  std::vector<int64_t> chunk_rows;  ///< in order of ids, as in BlockwiseOptions
  int64_t batch = 1;                ///< rows of a global batch: of all ranks together
  int64_t epoch = 0;
};

/// Looks at 20,000 pairs of rows and 256 batches (fewer where they are large: 2^20 rows in all), whatever the size of the data set; at all
/// where it is that small. Zeros where there are fewer than two rows. The order must have as many rows as the chunks.
Mixing measure_mixing(const Order& order, const MixingOptions& options);

/// The same for a blockwise order with this many chunks mixed, or (0) for a flat shuffle.
struct MixingRow {
  int64_t block = 0;
  Mixing mixing;
};
/// block = 1, 2, 4, 8, 16, 32, the one in use and all chunks, as far as there are so many, ascending; last the flat shuffle.
Result<std::vector<MixingRow>> mixing_table(const MixingOptions& options, int64_t block, int64_t lanes, uint64_t seed);

}  // namespace forebay
