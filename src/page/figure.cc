#include "page/figure.h"

#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

namespace forebay {

namespace {

std::string three_digits(double value) {
  return std::abs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Formats a value with the unit in which it is 1 to 999.
std::string scaled(double value, double step, std::initializer_list<std::string_view> units) {
  auto unit = units.begin();
  while (std::abs(value) >= step && unit + 1 != units.end()) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + std::string(*unit);
}

std::string format_seconds(double value) {
  if (value == 0 || value >= 1) return three_digits(value) + " s";
  return scaled(value * 1e6, 1000, {" µs", " ms", " s"});
}

}  // namespace

std::string format_figure(double value, PlotUnit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case PlotUnit::kCount: return fmt::format("{:.0f}", value);
    case PlotUnit::kBytes: return scaled(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
    case PlotUnit::kSeconds: return format_seconds(value);
    case PlotUnit::kShare: return fmt::format("{:.1f} %", 100 * value);
    case PlotUnit::kPerSecond: return three_digits(value) + "/s";
    case PlotUnit::kBytesPerSecond: return scaled(value, 1024, {" B/s", " KiB/s", " MiB/s", " GiB/s"});
  }
  return "-";
}

}  // namespace forebay
