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

/// Consecutive places of an array.
struct Segment {
  int64_t start = 0;
  int64_t length = 0;
};

/// Values of fixed width, and whether their memory may be written to.
struct LeafValues {
  Buffer bytes;
  bool owned = true;
  Buffer exact = {};  ///< a byte for each value, 0 where it was lost in a conversion; empty where none was
};

/// The segments of `array`, `count` places in all, as elements of `to` (readable_as() holds). What stands at nulls is undefined.
/// `round`: decimals and floats may become the nearest float. A view of Arrow's memory where that is possible; `owned` says whether
/// such a view may be written to.
Result<LeafValues> leaf_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                               const ColumnType& to, bool round, bool owned);

/// Bits `first` and following, `count` of them, as bytes 0 and 1.
void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out);

/// All strings of an array without its nulls; those lie in the array's memory. Null strings are empty. Numbers are text here, too.
/// The views take 16 bytes a place, counted against the thread's Allowance, and hold nothing alive: `array` must outlive them.
class StringViews {
 public:
  /// Corrupt where an offset leads outside.
  static Result<StringViews> of(const arrow::Array& array);
  std::span<const uint8_t> operator[](int64_t place) const { return views_[static_cast<size_t>(place)]; }

 private:
  std::vector<std::span<const uint8_t>> views_;
  std::deque<std::string> made_;  ///< texts of numbers, which no array holds
};

}  // namespace forebay
