#pragma once

#include <optional>
#include <string_view>

namespace forebay {

/// Parses bytes per second: "2GB/s", "10Gbit/s", "500 Mbit/s", "1e9", or a size with or without
/// "/s" (base/byte_size.h). Returns nothing for other texts.
std::optional<double> parse_rate(std::string_view text);

}  // namespace forebay
