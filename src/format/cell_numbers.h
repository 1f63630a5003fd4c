#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "forebay/dtype.h"

namespace forebay {

/// Infers the type of a column from its cells: the type whose values print as exactly the same
/// text. One thread.
class CellTypeFinder {
 public:
  /// Takes the next cell, which must not be empty.
  void add(std::string_view cell);
  /// kInt64, kUint64, kFloat64 or kBool; nullopt if the cells are text, or before the first cell.
  std::optional<DType> type() const;

 private:
  void add_whole(std::string_view cell);
  void add_float(std::string_view cell);
  void add_bool(std::string_view cell);

  bool any_ = false, any_digit_ = false;
  bool whole_ = true, negative_ = false, beyond_int64_ = false, exact_in_double_ = true;
  bool shortest_ = true, fixed_ = true, scientific_ = true;
  std::optional<size_t> decimals_, scientific_decimals_;
  bool bool_ = true;
  uint8_t spelling_ = 0;  ///< how true and false are spelt
};

/// The number that `cell` spells, rounded to T if T is a float. Blanks around it, a plus sign and
/// leading zeros are allowed. Returns nullopt if the cell is not a number or T cannot hold it.
template <typename T>
std::optional<T> parse_number_cell(std::string_view cell);
/// Accepts true/false, True/False, TRUE/FALSE, 1 and 0.
std::optional<uint8_t> parse_bool_cell(std::string_view cell);

}  // namespace forebay
