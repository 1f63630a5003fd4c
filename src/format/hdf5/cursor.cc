#include "format/hdf5/cursor.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

// The byte-wise variant of lookup3, which gives the same result on either byte order.
struct Lookup3 {
  uint32_t a, b, c;

  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
  /// Adds up to twelve bytes; missing ones count as zero.
  void add(std::span<const uint8_t> bytes) {
    uint32_t* const words[] = {&a, &b, &c};
    for (size_t i = 0; i < bytes.size(); ++i) *words[i / 4] += uint32_t{bytes[i]} << (i % 4 * 8);
  }
};

}  // namespace

uint64_t Hdf5Cursor::number(size_t count) {
  const std::span<const uint8_t> from = bytes(count);
  uint64_t value = 0;
  for (size_t i = 0; i < from.size() && i < sizeof value; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

uint64_t Hdf5Cursor::address() {
  const uint64_t value = number(sizes_.address);
  const uint64_t all = sizes_.address >= 8 ? UINT64_MAX : (uint64_t{1} << (8 * sizes_.address)) - 1;
  return value == all ? kHdf5NoAddress : value;
}

std::span<const uint8_t> Hdf5Cursor::bytes(uint64_t count) {
  if (failed_ || count > left()) {
    failed_ = true;
    return {};
  }
  const std::span<const uint8_t> taken = bytes_.subspan(at_, static_cast<size_t>(count));
  at_ += static_cast<size_t>(count);
  return taken;
}

bool Hdf5Cursor::signature(std::string_view four) {
  const std::span<const uint8_t> found = bytes(four.size());
  const bool same = found.size() == four.size() && std::memcmp(found.data(), four.data(), four.size()) == 0;
  if (!same) failed_ = true;
  return same;
}

std::string Hdf5Cursor::text() {
  const std::span<const uint8_t> rest = bytes_.subspan(at_);
  const void* const end = rest.empty() || failed_ ? nullptr : std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) {
    failed_ = true;
    return {};
  }
  const auto length = static_cast<size_t>(static_cast<const uint8_t*>(end) - rest.data());
  at_ += length + 1;
  return {reinterpret_cast<const char*>(rest.data()), length};
}

void Hdf5Cursor::align8(size_t begin) {
  if (const size_t over = (at_ - begin) % 8; over != 0) skip(8 - over);
}

Status hdf5_damaged(std::string_view what) { return corrupt(fmt::format("the file's metadata are damaged: {}", what)); }

uint32_t hdf5_checksum(std::span<const uint8_t> bytes) {
  const uint32_t begin = 0xdeadbeef + static_cast<uint32_t>(bytes.size());
  Lookup3 state{begin, begin, begin};
  // The comparison is strict, because the last block goes through finish() instead of mix().
  while (bytes.size() > 12) {
    state.add(bytes.first(12));
    state.mix();
    bytes = bytes.subspan(12);
  }
  if (bytes.empty()) return state.c;
  state.add(bytes);
  state.finish();
  return state.c;
}

bool hdf5_checksum_holds(std::span<const uint8_t> block) {
  if (block.size() < 4) return false;
  Hdf5Cursor stored(block.last(4));
  return stored.u32() == hdf5_checksum(block.first(block.size() - 4));
}

}  // namespace forebay
