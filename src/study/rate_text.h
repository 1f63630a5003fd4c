#pragma once

#include <optional>
#include <string_view>

namespace forebay {

/// Bytes a second: "2GB/s", "10Gbit/s", "500 Mbit/s", "1e9", a size with or without "/s" (base/byte_size.h). Nothing for what is none.
std::optional<double> parse_rate(std::string_view text);

}  // namespace forebay
