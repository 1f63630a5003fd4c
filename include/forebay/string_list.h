#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// One row of a field of lists of texts or bytes, where it travels as one run of bytes: in a Sample (a uint8 tensor of rank 1) and
/// in columns. With n strings it is n + 1 offsets (uint32, in bytes from the beginning of the run), then the strings: string i
/// lies between the offsets i and i + 1, so the first offset says how many there are and the last where the run ends. A run need
/// not be aligned; no bytes at all are an empty list, too. A view keeps nothing alive.
class StringList {
 public:
  StringList() = default;
  /// A run that is known to be one (is_valid()).
  explicit StringList(std::span<const uint8_t> run) : run_(run) {}

  /// The offsets are as they must be: whatever the bytes are, this reads nothing outside of them.
  static bool is_valid(std::span<const uint8_t> run);
  /// Bytes of a run of so many strings, which have so many bytes together.
  static uint64_t run_bytes(uint64_t strings, uint64_t bytes) { return (strings + 1) * sizeof(uint32_t) + bytes; }
  /// Strings as a run, to be put into a Sample. Unsupported where that is 4 GiB or more.
  static Result<Tensor> pack(std::span<const std::string_view> strings);

  size_t size() const { return run_.empty() ? 0 : offset(0) / sizeof(uint32_t) - 1; }
  std::span<const uint8_t> operator[](size_t i) const { return run_.subspan(offset(i), length(i)); }
  std::string_view text(size_t i) const { return {reinterpret_cast<const char*>(run_.data()) + offset(i), length(i)}; }
  size_t length(size_t i) const { return offset(i + 1) - offset(i); }
  /// Where string i begins among all strings end to end; with i = size(), where the last ends.
  size_t begin_of(size_t i) const { return offset(i) - offset(0); }
  /// All strings end to end.
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
