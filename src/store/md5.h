#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace forebay {

using Md5 = std::array<uint8_t, 16>;

/// For the checksums of servers. Nothing if OpenSSL has no MD5, as in FIPS mode. Any thread may call
/// it.
std::optional<Md5> md5(std::span<const uint8_t> bytes);

}  // namespace forebay
