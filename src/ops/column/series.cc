#include "ops/column/series.h"

#include <array>
#include <cmath>
#include <utility>

#include "ops/definition/element_types.h"

namespace forebay {

namespace {

constexpr std::array<std::pair<std::string_view, SeriesFunction>, 7> kSeriesFunctions = {{
    {"sum", SeriesFunction::kSum},
    {"mean", SeriesFunction::kMean},
    {"std", SeriesFunction::kStd},
    {"rms", SeriesFunction::kRms},
    {"min", SeriesFunction::kMin},
    {"max", SeriesFunction::kMax},
    {"cusum", SeriesFunction::kCusum},
}};

constexpr size_t kParts = 8;

/// Compilers keep the parts in vectors, because no part depends on another.
template <typename Term>
double sum_of(size_t count, Term term) {
  double parts[kParts] = {};
  size_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (size_t k = 0; k < kParts; ++k) parts[k] += term(i + k);
  }
  for (size_t k = 0; i < count; ++i, ++k) parts[k] += term(i);
  // The order is fixed, whatever vectors a machine has, so the bits are the same everywhere.
  return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<decltype(widen(value))>) return std::isnan(widen(value));
  return false;
}

}  // namespace

std::optional<SeriesFunction> series_function(std::string_view name) {
  for (const auto& [known, function] : kSeriesFunctions) {
    if (known == name) return function;
  }
  return std::nullopt;
}

std::string series_function_names() {
  std::string names;
  for (const auto& [name, function] : kSeriesFunctions) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

DType series_dtype(SeriesFunction function, DType from) {
  if (function == SeriesFunction::kMin || function == SeriesFunction::kMax) return from;
  // Integers give doubles, because a float cannot represent all 32-bit integers.
  return from != DType::kFloat64 && is_floating(from) ? DType::kFloat32 : DType::kFloat64;
}

double series_sum(std::span<const double> series) {
  return sum_of(series.size(), [&](size_t i) { return series[i]; });
}

double series_mean(std::span<const double> series) { return series_sum(series) / static_cast<double>(series.size()); }

double series_number(SeriesFunction function, std::span<const double> series) {
  const auto count = static_cast<double>(series.size());
  switch (function) {
    case SeriesFunction::kSum: return series_sum(series);
    case SeriesFunction::kMean: return series_mean(series);
    case SeriesFunction::kRms:
      return std::sqrt(sum_of(series.size(), [&](size_t i) { return series[i] * series[i]; }) / count);
    default: break;
  }
  const double mean = series_mean(series);
  return std::sqrt(sum_of(series.size(), [&](size_t i) { return (series[i] - mean) * (series[i] - mean); }) / count);
}

void series_cusum(std::span<const double> series, double* out) {
  const double mean = series_mean(series);
  double sum = 0;
  for (size_t i = 0; i < series.size(); ++i) out[i] = sum += series[i] - mean;
}

void gather_series(DType dtype, SeriesView view, double* out) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    if (view.step == 1) {
      map_elements<T, double>(view.first, reinterpret_cast<uint8_t*>(out), view.count,
                              [](T value) { return static_cast<double>(widen(value)); });
      return;
    }
    for (int64_t i = 0; i < view.count; ++i)
      out[i] = static_cast<double>(widen(load_element<T>(view.first, i * view.step)));
  });
}

void series_extreme(DType dtype, SeriesFunction function, SeriesView view, uint8_t* out) {
  const bool largest = function == SeriesFunction::kMax;
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    T best = load_element<T>(view.first, 0);
    for (int64_t i = 1; i < view.count && !is_nan(best); ++i) {
      const T value = load_element<T>(view.first, i * view.step);
      if (is_nan(value) || (largest ? widen(value) > widen(best) : widen(value) < widen(best))) best = value;
    }
    store_element(out, 0, best);
  });
}

}  // namespace forebay
