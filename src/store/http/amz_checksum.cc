#include "store/http/amz_checksum.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/base64.h"
#include "store/crc.h"
#include "store/sha256.h"

namespace forebay {

namespace {

// Returns the header's form: base64 of the checksum's bytes, the highest first.
std::string big_endian_base64(std::unsigned_integral auto value) {
  std::array<uint8_t, sizeof value> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * (bytes.size() - 1 - i));
  return base64(bytes);
}

struct Algorithm {
  std::string_view header;
  std::string (*sum)(std::span<const uint8_t>);
};

// Cheapest first: the first one that came with the answer decides, and the others are not computed.
constexpr std::array<Algorithm, 4> kAlgorithms = {{
    {"x-amz-checksum-crc32c", [](std::span<const uint8_t> bytes) { return big_endian_base64(crc32c(bytes)); }},
    {"x-amz-checksum-crc64nvme", amz_crc64nvme},
    {"x-amz-checksum-crc32", [](std::span<const uint8_t> bytes) { return big_endian_base64(crc32_iso(bytes)); }},
    {"x-amz-checksum-sha256", [](std::span<const uint8_t> bytes) { return base64(sha256(bytes)); }},
}};

}  // namespace

std::string amz_crc64nvme(std::span<const uint8_t> bytes) { return big_endian_base64(crc64_nvme(bytes)); }

Status check_amz_checksum(const HttpResponse& response) {
  for (const Algorithm& algorithm : kAlgorithms) {
    const std::string_view given = response.header(algorithm.header);
    // "-3" says that it is made of three parts' checksums.
    if (given.empty() || given.find('-') != std::string_view::npos) continue;
    if (algorithm.sum(response.body.span()) == given) return {};
    return unavailable(fmt::format("the bytes that arrived do not have the checksum that the server gives ({})",
                                   algorithm.header.substr(6)));
  }
  return {};
}

}  // namespace forebay
