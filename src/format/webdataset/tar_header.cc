#include "format/webdataset/tar_header.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace forebay {

namespace {

struct HeaderField {
  size_t offset, length;
};
constexpr HeaderField kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 8}, kLink{157, 100},
    kPrefix{345, 155};
constexpr size_t kType = 156;
// ustar continues with a version and a prefix. GNU's magic is "ustar  ", and it stores times where
// the prefix would be.
constexpr std::string_view kUstar("ustar\0", 6);

std::string_view text_at(std::span<const uint8_t> block, HeaderField field) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + field.offset, field.length);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

/// A base-256 number, marked by its first byte. Returns nullopt for negative numbers and those
/// beyond 64 bits.
std::optional<uint64_t> binary_number(std::span<const uint8_t> field) {
  uint64_t value = field.front() & 0x7F;
  // This is the sign in base 256. No size is negative.
  if ((field.front() & 0x40) != 0) return std::nullopt;
  for (const uint8_t byte : field.subspan(1)) {
    // Another byte would shift the top one out of 64 bits.
    if (value >> 56 != 0) return std::nullopt;
    value = value << 8 | byte;
  }
  return value;
}

std::optional<uint64_t> octal_number(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kSpaces);
  // Old programs leave the field empty for 0.
  if (first == std::string_view::npos) return 0;
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(digit - '0');
  }
  return value;
}

std::optional<uint64_t> header_number(std::span<const uint8_t> block, HeaderField field) {
  const auto bytes = block.subspan(field.offset, field.length);
  return (bytes.front() & 0x80) != 0 ? binary_number(bytes) : octal_number(text_at(block, field));
}

/// The checksum is the sum of all bytes, with the checksum field as spaces. Old programs summed
/// signed bytes.
bool checksum_matches(std::span<const uint8_t> block) {
  const std::optional<uint64_t> stated = header_number(block, kChecksum);
  if (!stated) return false;
  const auto own = block.subspan(kChecksum.offset, kChecksum.length);
  constexpr int64_t kSpaces = static_cast<int64_t>(kChecksum.length) * ' ';
  const auto sum = [](std::span<const uint8_t> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  };
  const auto high = [](std::span<const uint8_t> bytes) {
    return 256 * std::ranges::count_if(bytes, [](uint8_t byte) { return byte > 127; });
  };
  const int64_t plain = sum(block) - sum(own) + kSpaces, with_signs = plain - high(block) + high(own);
  return static_cast<int64_t>(*stated) == plain || static_cast<int64_t>(*stated) == with_signs;
}

}  // namespace

bool has_tar_magic(std::span<const uint8_t> block) {
  constexpr std::string_view kAnyMagic = "ustar";
  return std::memcmp(block.data() + kMagic.offset, kAnyMagic.data(), kAnyMagic.size()) == 0;
}

bool is_zero_block(std::span<const uint8_t> block) {
  return std::ranges::all_of(block, [](uint8_t byte) { return byte == 0; });
}

Result<TarHeaderBlock> parse_tar_header(std::span<const uint8_t> block) {
  if (!checksum_matches(block)) return corrupt("the checksum of this header is wrong, or no header stands here");
  const std::optional<uint64_t> size = header_number(block, kSize);
  if (!size) return corrupt("the size in this header is no number");
  TarHeaderBlock header{std::string(text_at(block, kName)), std::string(text_at(block, kLink)),
                        static_cast<char>(block[kType]), *size};
  const bool ustar = std::memcmp(block.data() + kMagic.offset, kUstar.data(), kUstar.size()) == 0;
  const std::string_view prefix = ustar ? text_at(block, kPrefix) : std::string_view();
  if (!prefix.empty()) header.name = fmt::format("{}/{}", prefix, header.name);
  return header;
}

}  // namespace forebay
