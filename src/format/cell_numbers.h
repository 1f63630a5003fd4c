#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "forebay/dtype.h"

namespace forebay {

/// Looks at the cells of a column, one by one, and says which type prints all of them again as they were written. One thread.
class CellNumbers {
 public:
  /// `cell` is not empty.
  void see(std::string_view cell);
  /// kInt64, kUint64, kFloat64, kBool, or nothing where the cells are text. Nothing before the first cell.
  std::optional<DType> type() const;

 private:
  void see_whole(std::string_view cell);
  void see_float(std::string_view cell);
  void see_bool(std::string_view cell);

  bool any_ = false, any_digit_ = false;
  bool whole_ = true, negative_ = false, beyond_int64_ = false, exact_in_double_ = true;
  bool shortest_ = true, fixed_ = true, scientific_ = true;
  std::optional<size_t> decimals_, scientific_decimals_;
  bool bool_ = true;
  uint8_t spelling_ = 0;  ///< of true and false
};

/// The number that `cell` spells, rounded to T where T is a float: blanks around it, a plus sign and leading zeros are allowed. Nothing
/// where it is no number, or not within T.
template <typename T>
std::optional<T> spelt_number(std::string_view cell);
/// true/false, True/False, TRUE/FALSE, and 1/0.
std::optional<uint8_t> spelt_bool(std::string_view cell);

}  // namespace forebay
