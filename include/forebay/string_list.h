#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// A view of one row of a field of lists of texts or bytes, encoded as one run of bytes. Samples
/// hold such a run as a uint8 tensor of rank 1, and columns hold them, too. The view does not own
/// the bytes.
///
/// A run of n strings consists of n + 1 offsets (uint32, in bytes from the beginning of the run),
/// followed by the strings. String i lies between offset i and offset i + 1. The first offset thus
/// determines n, and the last one is the length of the run. A run need not be aligned. An empty run
/// is an empty list.
class StringList {
 public:
  StringList() = default;
  /// Views a valid run: is_valid() must be true for it.
  explicit StringList(std::span<const uint8_t> run) : run_(run) {}

  /// Returns whether the offsets of a run are consistent. Reads nothing outside of the run, for any
  /// bytes.
  static bool is_valid(std::span<const uint8_t> run);
  /// Returns the size of a run of `strings` strings that have `bytes` bytes in all.
  static uint64_t run_bytes(uint64_t strings, uint64_t bytes) { return (strings + 1) * sizeof(uint32_t) + bytes; }
  /// Encodes strings as a run for a Sample. Error: Unsupported if the run has 4 GiB or more.
  static Result<Tensor> pack(std::span<const std::string_view> strings);

  size_t size() const { return run_.empty() ? 0 : offset(0) / sizeof(uint32_t) - 1; }
  std::span<const uint8_t> operator[](size_t i) const { return run_.subspan(offset(i), length(i)); }
  std::string_view text(size_t i) const { return {reinterpret_cast<const char*>(run_.data()) + offset(i), length(i)}; }
  size_t length(size_t i) const { return offset(i + 1) - offset(i); }
  /// Returns where string i begins in bytes(); for i = size(), the size of bytes().
  size_t begin_of(size_t i) const { return offset(i) - offset(0); }
  /// Returns all strings end to end.
  std::span<const uint8_t> bytes() const { return run_.empty() ? run_ : run_.subspan(offset(0)); }

 private:
  size_t offset(size_t i) const {
    uint32_t offset;
    std::memcpy(&offset, run_.data() + i * sizeof offset, sizeof offset);
    return offset;
  }
  std::span<const uint8_t> run_;
};

}  // namespace forebay
