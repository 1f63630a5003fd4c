#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Bytes per address and per length in a file.
struct Hdf5Sizes {
  uint8_t address = 8, length = 8;
};

/// The address of data that was never stored.
constexpr uint64_t kHdf5NoAddress = UINT64_MAX;

/// Reads numbers of a metadata block in order. Reading past the end gives zeros and sets a flag.
/// The caller therefore checks failed() once at the end, and earlier only if a value determines how
/// much is read next. The cursor does not own the bytes.
class Hdf5Cursor {
 public:
  explicit Hdf5Cursor(std::span<const uint8_t> bytes, Hdf5Sizes sizes = {}) : bytes_(bytes), sizes_(sizes) {}

  /// A little-endian number of up to eight bytes.
  uint64_t number(size_t bytes);
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  uint64_t length() { return number(sizes_.length); }
  /// Returns kHdf5NoAddress if all bits are set, whatever the size of an address.
  uint64_t address();
  /// The next `count` bytes; empty if fewer are left.
  std::span<const uint8_t> bytes(uint64_t count);
  void skip(uint64_t count) { bytes(count); }
  /// Reads four bytes and returns whether they are `four`.
  bool signature(std::string_view four);
  /// Reads a text up to and including its terminating zero byte.
  std::string text();
  /// Skips to the next multiple of eight, counted from `begin`.
  void align8(size_t begin);

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  Hdf5Sizes sizes() const { return sizes_; }

 private:
  std::span<const uint8_t> bytes_;
  Hdf5Sizes sizes_;
  size_t at_ = 0;
  bool failed_ = false;
};

/// A Corrupt error about a part of the metadata.
Status hdf5_damaged(std::string_view what);

/// The checksum at the end of newer blocks (Jenkins' lookup3 of all bytes before it).
uint32_t hdf5_checksum(std::span<const uint8_t> bytes);
/// True if the last four bytes are the checksum of those before them.
bool hdf5_checksum_holds(std::span<const uint8_t> block);

}  // namespace forebay
