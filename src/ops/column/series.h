#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/dtype.h"

// Arithmetic on one series of numbers: the same bits on every machine, since each is added up in an order that depends on its length alone.

namespace forebay {

/// What is made of a series.
enum class SeriesFunction : uint8_t { kSum, kMean, kStd, kRms, kMin, kMax, kCusum };

std::optional<SeriesFunction> series_function(std::string_view name);
/// "sum, mean, …", for messages.
std::string series_function_names();
/// A series as long as the one it is made of, and not one number.
constexpr bool keeps_length(SeriesFunction function) { return function == SeriesFunction::kCusum; }
/// Of this type: its own for the smallest and the largest; else float64 of float64 and integers, float32 of the rest.
DType series_dtype(SeriesFunction function, DType from);

/// The sum in eight interleaved parts, each in order, which are added up pairwise.
double series_sum(std::span<const double> series);
/// The mean, 0 / 0 of no number.
double series_mean(std::span<const double> series);
/// One number: the population's deviation for kStd, the root of the mean of squares for kRms. Not for kMin, kMax and kCusum.
double series_number(SeriesFunction function, std::span<const double> series);
/// out[t]: the sum of the deviations from the mean up to t.
void series_cusum(std::span<const double> series, double* out);

/// Where the numbers of one series lie: `count` of them, `step` elements apart.
struct SeriesPlace {
  const uint8_t* first = nullptr;
  int64_t count = 0, step = 1;
};
/// As float64, to `out`.
void gather_series(DType dtype, SeriesPlace place, double* out);
/// The smallest or largest, as it is; NaN where there is one, as NumPy has it. At least one number.
void series_extreme(DType dtype, SeriesFunction function, SeriesPlace place, uint8_t* out);

}  // namespace forebay
