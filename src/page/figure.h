#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// Unit of a number on a page, which decides how it is formatted.
enum class PlotUnit : uint8_t {
  kCount,
  kBytes,
  kSeconds,
  kShare,  ///< 1 is all: shown in per cent
  kPerSecond,
  kBytesPerSecond,
};

/// Formats a value as pages show it: "12.0 %", "3.4 MiB/s", "250 ms"; "-" if it is not finite.
std::string format_figure(double value, PlotUnit unit);

}  // namespace forebay
