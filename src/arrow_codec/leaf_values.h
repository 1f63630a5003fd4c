#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/column_type.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Consecutive elements of an array.
struct Segment {
  int64_t start = 0;
  int64_t length = 0;
};

/// Values of fixed width. `owned` is true if their memory may be overwritten.
struct LeafValues {
  Buffer bytes;
  bool owned = true;
  Buffer exact = {};  ///< one byte per value, 0 if it was lost in a conversion; empty if none was
};

/// Rule for decimals and floats that the other type does not hold exactly.
enum class FloatRounding : uint8_t {
  kExact,    ///< they are lost values
  kNearest,  ///< they become the nearest float
};

/// Returns the segments of `array`, `count` elements in all, as elements of `to`. readable_as()
/// must hold. Values of null elements are undefined. The result is a view of Arrow's memory if
/// possible; `owned` says whether such a view may be overwritten. Corrupt if the array is
/// inconsistent.
Result<LeafValues> leaf_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                               const ColumnType& to, FloatRounding rounding, bool owned);

/// Writes `count` bits, beginning with bit `first`, as bytes 0 and 1.
void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out);

/// Views of all strings of an array, in the array's memory. Null strings are empty. Numbers are
/// converted to text. The views take 16 bytes per element, counted against the thread's Allowance.
/// They do not own the array, which must outlive them.
class StringViews {
 public:
  /// Corrupt if an offset leads outside of the array.
  static Result<StringViews> of(const arrow::Array& array);
  std::span<const uint8_t> operator[](int64_t index) const { return views_[static_cast<size_t>(index)]; }

 private:
  std::vector<std::span<const uint8_t>> views_;
  std::deque<std::string> made_;  ///< texts of numbers
};

}  // namespace forebay
