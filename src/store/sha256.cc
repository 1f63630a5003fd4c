#include "store/sha256.h"

#include <algorithm>
#include <cstring>

namespace forebay {

namespace {
// Block size of SHA-256, to which HMAC pads keys.
constexpr size_t kBlockBytes = 64;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
}  // namespace

Sha256 sha256(std::string_view text) { return sha256(bytes_of(text)); }

// RFC 2104.
Sha256 hmac_sha256(std::span<const uint8_t> key, std::string_view text) {
  std::array<uint8_t, kBlockBytes> padded{};
  if (key.size() > kBlockBytes) {
    const Sha256 shorter = sha256(key);
    std::ranges::copy(shorter, padded.begin());
  } else {
    std::ranges::copy(key, padded.begin());
  }
  std::string inner;
  inner.reserve(kBlockBytes + text.size());
  std::array<uint8_t, kBlockBytes + std::tuple_size_v<Sha256>> outer;
  for (size_t i = 0; i < kBlockBytes; ++i) {
    inner += static_cast<char>(padded[i] ^ 0x36);
    outer[i] = padded[i] ^ 0x5c;
  }
  inner += text;
  std::ranges::copy(sha256(inner), outer.begin() + kBlockBytes);
  return sha256(outer);
}

std::string hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace forebay
