#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

using Sha256 = std::array<uint8_t, 32>;

/// Hash functions without state, callable from any thread. For signatures, not for passwords.
Sha256 sha256(std::span<const uint8_t> bytes);
Sha256 sha256(std::string_view text);
Sha256 hmac_sha256(std::span<const uint8_t> key, std::string_view text);

/// Returns lower-case hexadecimal digits.
std::string hex(std::span<const uint8_t> bytes);

}  // namespace forebay
