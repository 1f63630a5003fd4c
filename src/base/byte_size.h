#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// "2GiB", "512 MB", "1.5GiB", "4096": bytes; units of 1024 with an i, of 1000 without, in any case. Nothing where the
/// text is no size, is negative, or does not fit.
std::optional<uint64_t> parse_byte_size(std::string_view text);

/// "38.5 MiB": for people.
std::string format_byte_size(uint64_t bytes);

}  // namespace forebay
