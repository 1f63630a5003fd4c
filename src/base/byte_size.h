#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

inline constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

/// Parses a size: "2GiB", "512 MB", "1.5GiB", "2g", "4096". Units with an i are powers of 1024,
/// others of 1000, in upper or lower case, with blanks around and between. The C++ interface, the
/// Python interface and the tools all use this parser. Empty if the text is not a size, is
/// negative, or is 2^63 or more.
std::optional<uint64_t> parse_byte_size(std::string_view text);

/// A size for people: "38.5 MiB".
std::string format_byte_size(uint64_t bytes);

}  // namespace forebay
