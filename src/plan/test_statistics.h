#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace forebay {

/// Pearson's chi-square of counts against expectations, in standard deviations from its mean
/// (`freedom` degrees). Chance stays within about 4; sums over many cells are nearly normal.
/// `inflation` is the ratio of the sum's mean to `freedom`, other than 1 for draws without
/// replacement.
inline double chi_square_sigmas(std::span<const int64_t> counts, std::span<const double> expected, double freedom,
                                double inflation = 1) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double off = static_cast<double>(counts[i]) - expected[i];
    if (expected[i] > 0) sum += off * off / expected[i];
  }
  return (sum / inflation - freedom) / std::sqrt(2 * freedom);
}

/// The same if all cells have the same expectation.
inline double chi_square_sigmas(std::span<const int64_t> counts) {
  double total = 0, squares = 0;
  for (int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  for (int64_t count : counts)
    squares += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (squares / expected - freedom) / std::sqrt(2 * freedom);
}

}  // namespace forebay
