#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "arrow_codec/table_plan.h"
#include "base/convert.h"
#include "base/utf8.h"

namespace forebay {

namespace {

template <typename T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Nothing where the value is no whole number of T.
template <typename T>
std::optional<std::string> whole(const NullPolicy::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    if (!std::in_range<T>(*integer)) return std::nullopt;
    return bytes_of(static_cast<T>(*integer));
  }
  const double real = std::get<double>(value);
  constexpr int bits = std::numeric_limits<T>::digits;
  const double end = std::ldexp(1.0, bits);  // the first number beyond T
  const double least = std::is_signed_v<T> ? -end : 0.0;
  // Written so that NaN fits nothing.
  if (!(real >= least && real < end) || real != std::trunc(real)) return std::nullopt;
  return bytes_of(static_cast<T>(real));
}

std::optional<std::string> real(DType dtype, const NullPolicy::Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  const double number = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
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

}  // namespace

Result<std::optional<std::string>> null_bytes(const NullPolicy::Value& value, const Leaf& leaf) {
  const bool text = std::holds_alternative<std::string>(value);
  const bool truth = std::holds_alternative<bool>(value);
  if (text != leaf.strings() || std::holds_alternative<std::monostate>(value) || (truth && leaf.dtype != DType::kBool))
    return std::optional<std::string>();
  if (text && leaf.kind == FieldKind::kText && !is_utf8(std::get<std::string>(value)))
    return std::optional<std::string>();
  if (text) return std::optional<std::string>(std::get<std::string>(value));
  if (truth) return std::optional<std::string>(bytes_of(static_cast<uint8_t>(std::get<bool>(value))));
  std::optional<std::string> bytes = number_bytes(leaf.dtype, value);
  if (!bytes)
    return invalid_argument(
        fmt::format("null={}: the value does not fit the column '{}', which is {}; give that column a value of its "
                    "own, or take fb.NULL_MASK",
                    value_text(value), leaf.name, dtype_name(leaf.dtype)));
  return bytes;
}

}  // namespace forebay
