#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// How many bytes addresses and lengths take in a file.
struct Hdf5Sizes {
  uint8_t address = 8, length = 8;
};

/// An address that leads nowhere: nothing was stored.
constexpr uint64_t kHdf5Nowhere = UINT64_MAX;

/// Reads numbers of a block of a file's metadata one after the other. Reading past the end gives zeros and is remembered: whoever is done
/// asks failed() once, so nothing in between needs a check unless it decides how much is read next. A view.
class Hdf5Cursor {
 public:
  explicit Hdf5Cursor(std::span<const uint8_t> bytes, Hdf5Sizes sizes = {}) : bytes_(bytes), sizes_(sizes) {}

  /// Little-endian, of up to eight bytes.
  uint64_t number(size_t bytes);
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  uint64_t length() { return number(sizes_.length); }
  /// kHdf5Nowhere where all bits are set, whatever the size.
  uint64_t address();
  /// Empty where so many are not left.
  std::span<const uint8_t> bytes(uint64_t count);
  void skip(uint64_t count) { bytes(count); }
  /// Whether the next four bytes are these; they are read.
  bool signature(std::string_view four);
  /// Up to a zero byte, which is read, too.
  std::string text();
  /// To the next multiple of eight from `begin`.
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

/// Corrupt, for what a part of the metadata says.
Status hdf5_damaged(std::string_view what);

/// The checksum at the end of newer blocks (Jenkins' lookup3 of all bytes before it).
uint32_t hdf5_checksum(std::span<const uint8_t> bytes);
/// Whether the last four bytes are the checksum of those before.
bool hdf5_checksum_holds(std::span<const uint8_t> block);

}  // namespace forebay
