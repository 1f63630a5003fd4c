#include "base/column_type.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {

namespace {

constexpr int64_t kSeconds = 86'400;
constexpr std::array<std::pair<std::string_view, int64_t>, 5> kUnits = {{{"D", 1},
                                                                         {"s", kSeconds},
                                                                         {"ms", kSeconds * 1'000},
                                                                         {"us", kSeconds * 1'000'000},
                                                                         {"ns", kSeconds * 1'000'000'000}}};

bool is_integer(DType dtype) { return dtype >= DType::kUint8 && dtype <= DType::kInt64; }
bool is_float(DType dtype) { return dtype >= DType::kFloat16 && dtype <= DType::kFloat64; }
bool is_signed(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
}

DType signed_of(size_t bytes) {
  switch (bytes) {
    case 1: return DType::kInt8;
    case 2: return DType::kInt16;
    case 4: return DType::kInt32;
    default: return DType::kInt64;
  }
}

std::optional<DType> common_integer(DType a, DType b) {
  const size_t width_a = dtype_size(a), width_b = dtype_size(b);
  if (is_signed(a) == is_signed(b)) return width_a >= width_b ? a : b;
  const size_t with_sign = is_signed(a) ? width_a : width_b, without = is_signed(a) ? width_b : width_a;
  // A signed type needs one bit more to hold the values of the unsigned one.
  const size_t width = std::max(with_sign, 2 * without);
  return width <= 8 ? std::optional(signed_of(width)) : std::nullopt;
}

/// The narrowest float that holds every value of an integer type.
std::optional<DType> float_of(DType integer) {
  switch (dtype_size(integer)) {
    case 1: return DType::kFloat16;
    case 2: return DType::kFloat32;
    case 4: return DType::kFloat64;
    default: return std::nullopt;
  }
}

std::optional<DType> common_number(DType a, DType b) {
  if (a == b) return a;
  if (is_integer(a) && is_integer(b)) return common_integer(a, b);
  if (is_integer(b)) std::swap(a, b);
  const std::optional<DType> other = is_integer(a) ? float_of(a) : std::optional(a);
  if (!other || !is_float(*other) || !is_float(b)) return std::nullopt;
  return dtype_size(*other) >= dtype_size(b) ? *other : b;
}

}  // namespace

std::string time_word(const TimeType& time) {
  const auto unit = std::ranges::find(kUnits, time.ticks_per_day, &std::pair<std::string_view, int64_t>::second);
  if (unit == kUnits.end()) return {};
  return fmt::format("{}[{}]", time.since_1970 ? "datetime64" : "timedelta64", unit->first);
}

std::string column_type_word(const ColumnType& type) {
  if (type.kind == FieldKind::kText) return "string";
  if (type.kind == FieldKind::kBytes) return "bytes";
  const std::string time = type.time ? time_word(*type.time) : "";
  return time.empty() ? std::string(dtype_name(type.dtype)) : time;
}

Result<ColumnType> parse_column_type(std::string_view word) {
  if (word == "string" || word == "text" || word == "str") return ColumnType{FieldKind::kText, DType::kUint8, {}};
  if (word == "bytes" || word == "binary") return ColumnType{FieldKind::kBytes, DType::kUint8, {}};
  if (const auto dtype = dtype_from_name(word)) return ColumnType{FieldKind::kTensor, *dtype, {}};
  std::vector<std::string> known = {"string", "bytes",  "bool",   "int8",   "int16",   "int32",   "int64",
                                    "uint8",  "uint16", "uint32", "uint64", "float16", "float32", "float64"};
  for (const bool since_1970 : {true, false}) {
    for (const auto& [unit, ticks] : kUnits) {
      const TimeType time{ticks, since_1970};
      if (time_word(time) == word) return ColumnType{FieldKind::kTensor, DType::kInt64, time};
      known.push_back(time_word(time));
    }
  }
  return invalid_argument(fmt::format("'{}' is no type{}; there are: {}", word,
                                      suggestion_text(std::string(word), known), fmt::join(known, ", ")));
}

std::optional<ColumnType> common_type(const ColumnType& a, const ColumnType& b) {
  if (a == b) return a;
  if (a.kind != b.kind || a.kind != FieldKind::kTensor || a.time.has_value() != b.time.has_value()) return std::nullopt;
  if (a.time) {
    if (a.time->since_1970 != b.time->since_1970) return std::nullopt;
    return a.time->ticks_per_day >= b.time->ticks_per_day ? a : b;
  }
  const std::optional<DType> dtype = common_number(a.dtype, b.dtype);
  return dtype ? std::optional(ColumnType{FieldKind::kTensor, *dtype, {}}) : std::nullopt;
}

std::string column_types_text(const ColumnTypes& types) {
  std::string text;
  for (const auto& [column, type] : types)
    text += fmt::format("{}:{}={}\n", column.size(), column, column_type_word(type));
  return text;
}

const ColumnType* find_type(const ColumnTypes& types, std::string_view column) {
  const auto found = std::ranges::find(types, column, &std::pair<std::string, ColumnType>::first);
  return found == types.end() ? nullptr : &found->second;
}

}  // namespace forebay
