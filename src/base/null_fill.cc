#include "base/null_fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/utf8.h"

namespace forebay {

namespace {

template <typename T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Returns the bytes of the value as a T. Empty if it is not an integer that T can hold.
template <typename T>
std::optional<std::string> whole(const NullPolicy::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    if (!std::in_range<T>(*integer)) return std::nullopt;
    return bytes_of(static_cast<T>(*integer));
  }
  const double real = std::get<double>(value);
  constexpr int bits = std::numeric_limits<T>::digits;
  const double end = std::ldexp(1.0, bits);  // the first number above T
  const double least = std::is_signed_v<T> ? -end : 0.0;
  // Written so that NaN never passes.
  if (!(real >= least && real < end) || real != std::trunc(real)) return std::nullopt;
  return bytes_of(static_cast<T>(real));
}

bool float_holds(int64_t integer, int digits) {
  const uint64_t size = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  return size == 0 || 64 - std::countl_zero(size) - std::countr_zero(size) <= digits;
}

std::optional<std::string> real(DType dtype, const NullPolicy::Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  const double number = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
  // An integer is meant exactly: rounding would replace nulls by another value.
  const int digits = dtype == DType::kFloat64 ? 53 : dtype == DType::kFloat32 ? 24 : 11;
  if (integer != nullptr && !float_holds(*integer, digits)) return std::nullopt;
  if (dtype == DType::kFloat64) return bytes_of(number);
  const double largest = dtype == DType::kFloat32 ? std::numeric_limits<float>::max() : 65504.0;
  if (std::isfinite(number) && std::abs(number) > largest) return std::nullopt;
  const auto single = static_cast<float>(number);
  return dtype == DType::kFloat32 ? bytes_of(single) : bytes_of(float_to_half(single));
}

std::optional<std::string> number_bytes(DType dtype, const NullPolicy::Value& value) {
  switch (dtype) {
    case DType::kBool: {
      const auto bit = whole<uint8_t>(value);
      return bit && static_cast<uint8_t>((*bit)[0]) <= 1 ? bit : std::nullopt;  // a char may be signed
    }
    case DType::kUint8: return whole<uint8_t>(value);
    case DType::kInt8: return whole<int8_t>(value);
    case DType::kUint16: return whole<uint16_t>(value);
    case DType::kInt16: return whole<int16_t>(value);
    case DType::kUint32: return whole<uint32_t>(value);
    case DType::kInt32: return whole<int32_t>(value);
    case DType::kUint64: return whole<uint64_t>(value);
    case DType::kInt64: return whole<int64_t>(value);
    default: return real(dtype, value);
  }
}

std::string value_text(const NullPolicy::Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("'{}'", *text);
  return "nothing";
}

const NullPolicy::Value* own_value(const NullPolicy& nulls, std::string_view name) {
  const auto own = std::ranges::find(nulls.by_column, name, [](const auto& each) { return each.first; });
  return own == nulls.by_column.end() ? nullptr : &own->second;
}

/// The part of a policy that applies to one column.
struct PolicyForColumn {
  NullPolicy::Kind kind = NullPolicy::Kind::kError;
  NullPolicy::Value value = {};
  bool by_name = false;  ///< the policy names this column
};

PolicyForColumn policy_for(const NullPolicy& nulls, const NullColumn& column) {
  const auto find = [&](std::string_view name, bool by_name) -> std::optional<PolicyForColumn> {
    if (std::ranges::find(nulls.masked, name) != nulls.masked.end())
      return PolicyForColumn{NullPolicy::Kind::kMask, {}, by_name};
    const NullPolicy::Value* value = own_value(nulls, name);
    return value != nullptr ? std::optional(PolicyForColumn{NullPolicy::Kind::kValue, *value, by_name}) : std::nullopt;
  };
  if (const auto own = find(column.name, true)) return *own;
  for (size_t i = column.structs.size(); i-- > 0;) {
    if (const auto enclosing = find(column.structs[i], false)) return *enclosing;
  }
  return {nulls.kind, nulls.value, false};
}

}  // namespace

ChosenFill choose_fill(const NullPolicy& nulls, const NullColumn& column) {
  const bool strings = column.type.kind != FieldKind::kTensor;
  const PolicyForColumn policy = policy_for(nulls, column);
  ChosenFill chosen;
  if (!strings) chosen.fill.bytes.assign(dtype_size(column.type.dtype), '\0');
  if (policy.kind == NullPolicy::Kind::kMask) chosen.fill.kind = policy.kind;
  // A value for all columns need not fit a column that has no nulls.
  if (policy.kind != NullPolicy::Kind::kValue || (!policy.by_name && !column.nullable)) return chosen;
  Result<std::optional<std::string>> bytes = null_bytes(policy.value, column);
  if (!bytes.ok()) {
    chosen.status = bytes.status();
  } else if (*bytes) {
    chosen.fill = {NullPolicy::Kind::kValue, std::move(**bytes)};
  } else if (policy.by_name) {
    chosen.status = invalid_argument(
        fmt::format("null=: the value for the column '{}' is of another kind than the column, which is {}", column.name,
                    strings ? "text" : dtype_name(column.type.dtype)));
  }
  return chosen;
}

std::optional<ColumnType> type_of_fill(const NullPolicy& nulls, const NullColumn& column) {
  const NullPolicy::Value value = policy_for(nulls, column).value;
  if (std::holds_alternative<bool>(value)) return ColumnType{FieldKind::kTensor, DType::kBool, {}};
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;
  return ColumnType{is_utf8(*text) ? FieldKind::kText : FieldKind::kBytes, DType::kUint8, {}};
}

Result<std::optional<std::string>> null_bytes(const NullPolicy::Value& value, const NullColumn& column) {
  const bool text = std::holds_alternative<std::string>(value);
  const bool truth = std::holds_alternative<bool>(value);
  const bool strings = column.type.kind != FieldKind::kTensor;
  if (text != strings || std::holds_alternative<std::monostate>(value) || (truth && column.type.dtype != DType::kBool))
    return std::optional<std::string>();
  if (text && column.type.kind == FieldKind::kText && !is_utf8(std::get<std::string>(value)))
    return std::optional<std::string>();
  if (text) return std::optional<std::string>(std::get<std::string>(value));
  if (truth) return std::optional<std::string>(bytes_of(static_cast<uint8_t>(std::get<bool>(value))));
  std::optional<std::string> bytes = number_bytes(column.type.dtype, value);
  if (!bytes)
    return invalid_argument(
        fmt::format("null={}: the value does not fit the column '{}', which is {}; give that column a value of its "
                    "own, or take fb.NULL_MASK",
                    value_text(value), column.name, dtype_name(column.type.dtype)));
  return bytes;
}

}  // namespace forebay
