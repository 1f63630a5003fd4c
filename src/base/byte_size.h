#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

inline constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

/// "2GiB", "512 MB", "1.5GiB", "2g", "4096": bytes; units of 1024 with an i, of 1000 without, in any case, blanks around and
/// between. The one parser of all faces. Nothing where the text is no size, is negative, or is 2^63 or more.
std::optional<uint64_t> parse_byte_size(std::string_view text);

/// "38.5 MiB": for people.
std::string format_byte_size(uint64_t bytes);

}  // namespace forebay
