#include "cache/segment_format.h"

#include <cerrno>
#include <charconv>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr uint64_t kMagic = 0x3158444945424546;  // "FEBEIDX1"
constexpr uint64_t kVersion = 1;
constexpr uint64_t kDiskBlock = 4096;

template <typename T>
uint64_t own_hash(const T& value) {
  return hash64(&value, sizeof value - sizeof value.hash);
}

}  // namespace

SegmentHeader SegmentHeader::of(uint64_t data_limit, uint64_t index_limit) {
  SegmentHeader header{kMagic, kVersion, data_limit, index_limit, {}, 0};
  header.hash = own_hash(header);
  return header;
}

bool SegmentHeader::valid() const { return magic == kMagic && version == kVersion && hash == own_hash(*this); }

SegmentRow SegmentRow::of(const Hash128& id, uint64_t offset, uint64_t bytes, double seconds) {
  SegmentRow row{id, offset, bytes, seconds, {}, 0};
  row.hash = own_hash(row);
  return row;
}

bool SegmentRow::valid() const {
  // Bounded, so that offset + bytes does not overflow, even as an off_t. A dead row is invalid
  // because it has no bytes.
  return hash == own_hash(*this) && bytes > 0 && offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

bool SegmentRow::dead() const {
  static constexpr unsigned char kZeros[sizeof(SegmentRow)] = {};
  return std::memcmp(this, kZeros, sizeof *this) == 0;
}

std::string segment_file(uint32_t number, std::string_view ending) { return fmt::format("{:06}{}", number, ending); }

std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || segment_file(number, "") != name) return std::nullopt;
  return number;
}

uint64_t disk_space_of_size(uint64_t bytes) { return (bytes + kDiskBlock - 1) / kDiskBlock * kDiskBlock; }

// Adds a 512th for the file system's block trees.
uint64_t disk_space_of_limit(uint64_t bytes) { return disk_space_of_size(bytes + bytes / 512); }

}  // namespace forebay
