#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "forebay/buffer.h"
#include "forebay/dtype.h"
#include "forebay/result.h"

namespace forebay {

/// Consecutive places of an array.
struct Segment {
  int64_t start = 0;
  int64_t length = 0;
};

/// Values of fixed width, and whether their memory may be written to.
struct LeafValues {
  Buffer bytes;
  bool owned = true;
};

/// The segments of `array`, `count` places in all, as elements of `dtype` (what leaf_type() says of its type). What stands at
/// nulls is undefined. A view of Arrow's memory where that is possible; `owned` says whether such a view may be written to.
Result<LeafValues> leaf_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count, DType dtype,
                               bool owned);

/// Bits `first` and following, `count` of them, as bytes 0 and 1.
void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out);

/// All strings of an array without its nulls; those lie in the array's memory. Null strings are empty.
/// The views take 16 bytes a place, counted against the thread's Allowance, and hold nothing alive: `array` must outlive them.
class StringViews {
 public:
  /// Corrupt where an offset leads outside.
  static Result<StringViews> of(const arrow::Array& array);
  std::span<const uint8_t> operator[](int64_t place) const { return views_[static_cast<size_t>(place)]; }

 private:
  std::vector<std::span<const uint8_t>> views_;
};

}  // namespace forebay
