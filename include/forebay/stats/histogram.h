#pragma once

#include <cstdint>
#include <vector>

namespace forebay {

/// Distribution of a measured value. The bounds are powers of two and change only with
/// kLedgerVersion.
struct Histogram {
  std::vector<double> bounds;    ///< largest value of each range
  std::vector<uint64_t> counts;  ///< values per range; one more for those above the last bound
  double sum = 0;                ///< sum of all values

  uint64_t count() const;
};

}  // namespace forebay
