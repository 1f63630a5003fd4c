#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "forebay/dtype.h"
#include "forebay/result.h"
#include "format/hdf5/datatype.h"

namespace forebay {

/// Converts numbers as a file stores them to numbers of a dtype. Immutable; any thread may use it.
class Hdf5Numbers {
 public:
  /// Unsupported, with a remedy, for types without a dtype: numbers of other widths, times,
  /// references.
  static Result<Hdf5Numbers> of(const Hdf5Type& type);

  DType dtype() const { return dtype_; }
  /// True if the stored bytes are already those of the dtype.
  bool is_copy() const { return how_ == How::kCopy; }
  /// Converts `elements` groups of `each` adjacent numbers to consecutive numbers at `out`. The
  /// groups begin `stride` bytes apart.
  void convert(const uint8_t* in, uint64_t stride, uint64_t elements, uint64_t each, uint8_t* out) const;

 private:
  enum class How : uint8_t { kCopy, kSwap, kBits };
  uint64_t one(const uint8_t* in) const;

  DType dtype_ = DType::kUint8;
  How how_ = How::kCopy;
  uint8_t bytes_ = 1;
  bool big_endian_ = false, is_signed_ = false, truth_ = false;
  uint16_t bit_offset_ = 0, precision_ = 0;
};

/// A text of fixed length without its padding.
std::string_view hdf5_text(const Hdf5Type& type, const uint8_t* bytes);

}  // namespace forebay
