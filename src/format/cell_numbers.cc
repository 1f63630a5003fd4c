#include "format/cell_numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/convert.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"}, kFalse = {"false", "False", "FALSE"};
constexpr int64_t kMaxExactWhole = int64_t{1} << 53;
// Longer than the shortest form of any double. No program prints a longer fixed form.
constexpr size_t kMaxFloatChars = 400;

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  return cell;
}

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// Only digits without a leading zero. A sign may precede them, but not a single 0.
bool is_plain_whole(std::string_view cell) {
  const bool negative = cell.starts_with('-');
  if (negative) cell.remove_prefix(1);
  if (cell.empty() || !std::ranges::all_of(cell, is_decimal_digit)) return false;
  return cell.front() != '0' || (cell.size() == 1 && !negative);
}

template <typename T>
std::optional<T> parsed(std::string_view cell) {
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  return value;
}

bool prints(double value, std::chars_format form, size_t decimals, std::string_view cell) {
  char text[kMaxFloatChars + 32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, form, static_cast<int>(decimals));
  return error == std::errc() && cell == std::string_view(text, static_cast<size_t>(end - text));
}

bool prints_shortest(double value, std::chars_format form, std::string_view cell) {
  char text[kMaxFloatChars + 32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, form);
  return error == std::errc() && cell == std::string_view(text, static_cast<size_t>(end - text));
}

/// True if the cell has the shortest digits that give the value, in the style of C++, Python
/// ("1.0", "1e-05") or %g.
bool is_shortest(double value, std::string_view cell) {
  if (prints_shortest(value, std::chars_format::fixed, cell) ||
      prints_shortest(value, std::chars_format::scientific, cell))
    return true;
  return cell.ends_with(".0") && prints_shortest(value, std::chars_format::fixed, cell.substr(0, cell.size() - 2));
}

bool is_word(std::string_view cell) {
  return cell == "nan" || cell == "NaN" || cell == "inf" || cell == "-inf" || cell == "Inf" || cell == "-Inf";
}

/// Number of decimals between the point and the end or the exponent; nullopt without a point.
std::optional<size_t> decimals_of(std::string_view cell) {
  const size_t point = cell.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  return std::min(cell.find('e'), cell.size()) - point - 1;
}

/// True if all cells so far have this number of decimals.
bool match_decimals(std::optional<size_t>& all, size_t decimals) {
  if (!all) all = decimals;
  return *all == decimals && decimals > 0;
}

}  // namespace

void CellTypeFinder::add(std::string_view cell) {
  any_ = true;
  add_whole(cell);
  add_float(cell);
  add_bool(cell);
}

void CellTypeFinder::add_whole(std::string_view cell) {
  if (!whole_) return;
  whole_ = is_plain_whole(cell) && (parsed<int64_t>(cell) || parsed<uint64_t>(cell));
  negative_ = negative_ || cell.starts_with('-');
  beyond_int64_ = beyond_int64_ || (whole_ && !parsed<int64_t>(cell));
}

void CellTypeFinder::add_float(std::string_view cell) {
  if (!shortest_ && !fixed_ && !scientific_) return;
  if (is_word(cell)) return;
  any_digit_ = true;
  const std::optional<double> value = cell.size() <= kMaxFloatChars ? parsed<double>(cell) : std::nullopt;
  if (!value || !std::isfinite(*value)) {
    shortest_ = fixed_ = scientific_ = false;
    return;
  }
  if (is_plain_whole(cell)) {
    // In a column with fractions it is read as a float, unless that would round it.
    const std::optional<int64_t> whole = parsed<int64_t>(cell);
    shortest_ = shortest_ && whole && *whole <= kMaxExactWhole && *whole >= -kMaxExactWhole;
    fixed_ = scientific_ = false;
    return;
  }
  const bool pointed = cell.find_first_of(".e") != std::string_view::npos;
  shortest_ = shortest_ && pointed && is_shortest(*value, cell);
  const std::optional<size_t> decimals = decimals_of(cell);
  fixed_ = fixed_ && decimals && match_decimals(decimals_, *decimals) &&
           prints(*value, std::chars_format::fixed, *decimals, cell);
  scientific_ = scientific_ && decimals && match_decimals(scientific_decimals_, *decimals) &&
                prints(*value, std::chars_format::scientific, *decimals, cell);
}

void CellTypeFinder::add_bool(std::string_view cell) {
  uint8_t spellings = 0;
  for (size_t i = 0; i < kTrue.size(); ++i) {
    if (cell == kTrue[i] || cell == kFalse[i]) spellings = static_cast<uint8_t>(i + 1);
  }
  if (spelling_ == 0) spelling_ = spellings;
  bool_ = bool_ && spellings != 0 && spelling_ == spellings;
}

std::optional<DType> CellTypeFinder::type() const {
  if (!any_) return std::nullopt;
  if (whole_ && !(negative_ && beyond_int64_)) return beyond_int64_ ? DType::kUint64 : DType::kInt64;
  // A column of only integers that fit no integer type is text, because floats would lose digits.
  if (!whole_ && any_digit_ && (shortest_ || fixed_ || scientific_)) return DType::kFloat64;
  return bool_ ? std::optional(DType::kBool) : std::nullopt;
}

template <typename T>
std::optional<T> parse_number_cell(std::string_view cell) {
  cell = trimmed(cell);
  // from_chars() does not accept '+'.
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  return parsed<T>(cell);
}

template std::optional<int8_t> parse_number_cell(std::string_view);
template std::optional<int16_t> parse_number_cell(std::string_view);
template std::optional<int32_t> parse_number_cell(std::string_view);
template std::optional<int64_t> parse_number_cell(std::string_view);
template std::optional<uint8_t> parse_number_cell(std::string_view);
template std::optional<uint16_t> parse_number_cell(std::string_view);
template std::optional<uint32_t> parse_number_cell(std::string_view);
template std::optional<uint64_t> parse_number_cell(std::string_view);
template std::optional<float> parse_number_cell(std::string_view);
template std::optional<double> parse_number_cell(std::string_view);

std::optional<uint8_t> parse_bool_cell(std::string_view cell) {
  cell = trimmed(cell);
  if (cell == "1" || std::ranges::find(kTrue, cell) != kTrue.end()) return 1;
  if (cell == "0" || std::ranges::find(kFalse, cell) != kFalse.end()) return 0;
  return std::nullopt;
}

}  // namespace forebay
