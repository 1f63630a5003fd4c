#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/dtype.h"

// Arithmetic on one series of numbers. The order of additions depends only on the length of the
// series, so the result has the same bits on every machine.

namespace forebay {

/// The result that is computed from a series.
enum class SeriesFunction : uint8_t { kSum, kMean, kStd, kRms, kMin, kMax, kCusum };

std::optional<SeriesFunction> series_function(std::string_view name);
/// "sum, mean, …", for messages.
std::string series_function_names();
/// True if the result is a series of the same length instead of one number.
constexpr bool keeps_length(SeriesFunction function) { return function == SeriesFunction::kCusum; }
/// Type of the result: `from` for the smallest and the largest. Otherwise float64 for float64 and
/// integers, and float32 for the smaller floating types.
DType series_dtype(SeriesFunction function, DType from);

/// The sum of eight interleaved partial sums, each in order, added pairwise.
double series_sum(std::span<const double> series);
/// The mean; NaN for an empty series.
double series_mean(std::span<const double> series);
/// A result that is one number: the population's standard deviation for kStd, the root of the mean
/// of squares for kRms. Not for kMin, kMax and kCusum.
double series_number(SeriesFunction function, std::span<const double> series);
/// Sets out[t] to the sum of the deviations from the mean up to t.
void series_cusum(std::span<const double> series, double* out);

/// Location of one series: `count` numbers, `step` elements apart.
struct SeriesView {
  const uint8_t* first = nullptr;
  int64_t count = 0, step = 1;
};
/// Copies the series to `out` as float64.
void gather_series(DType dtype, SeriesView view, double* out);
/// The smallest or largest element in its own type; NaN if there is one, as in NumPy. The series
/// must not be empty.
void series_extreme(DType dtype, SeriesFunction function, SeriesView view, uint8_t* out);

}  // namespace forebay
