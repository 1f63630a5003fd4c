#include "stream/numbers.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/convert.h"

namespace forebay {

namespace {

template <typename T>
void put_number(T value, uint8_t* out) {
  std::memcpy(out, &value, sizeof value);
}

// from_chars() accepts no locale, no blanks and no plus sign. Nothing may follow the number.
template <typename T>
bool parse_number(std::string_view text, uint8_t* out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  put_number(value, out);
  return true;
}

bool parse_small(std::string_view text, uint16_t (*narrow)(float), uint8_t* out) {
  float value = 0;
  if (!parse_number<float>(text, reinterpret_cast<uint8_t*>(&value))) return false;
  put_number(narrow(value), out);
  return true;
}

bool parse_bool(std::string_view text, uint8_t* out) {
  *out = text == "true" || text == "1" ? 1 : 0;
  return *out == 1 || text == "false" || text == "0";
}

/// False if T cannot hold the value.
template <typename T, typename From>
bool put_converted(From value, uint8_t* out) {
  if constexpr (std::integral<T>) {
    if (!std::in_range<T>(value)) return false;
  }
  put_number(static_cast<T>(value), out);
  return true;
}

template <typename From>
bool convert_one(From value, DType to, uint8_t* out) {
  switch (to) {
    case DType::kFloat16: put_number(float_to_half(static_cast<float>(value)), out); return true;
    case DType::kBfloat16: put_number(float_to_bfloat16(static_cast<float>(value)), out); return true;
    case DType::kFloat32: return put_converted<float>(value, out);
    case DType::kFloat64: return put_converted<double>(value, out);
    default: break;
  }
  // Floats do not become integers: that would truncate, or need a rule for rounding.
  if constexpr (std::integral<From>) {
    switch (to) {
      case DType::kUint8: return put_converted<uint8_t>(value, out);
      case DType::kInt8: return put_converted<int8_t>(value, out);
      case DType::kUint16: return put_converted<uint16_t>(value, out);
      case DType::kInt16: return put_converted<int16_t>(value, out);
      case DType::kUint32: return put_converted<uint32_t>(value, out);
      case DType::kInt32: return put_converted<int32_t>(value, out);
      case DType::kUint64: return put_converted<uint64_t>(value, out);
      case DType::kInt64: return put_converted<int64_t>(value, out);
      default: break;
    }
  }
  return false;
}

template <typename From>
size_t convert_all(const uint8_t* in, size_t count, DType to, uint8_t* out) {
  const size_t width = dtype_size(to);
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    if (!convert_one(value, to, out + i * width)) return i;
  }
  return count;
}

}  // namespace

bool number_from_text(DType dtype, std::string_view text, uint8_t* out) {
  switch (dtype) {
    case DType::kBool: return parse_bool(text, out);
    case DType::kUint8: return parse_number<uint8_t>(text, out);
    case DType::kInt8: return parse_number<int8_t>(text, out);
    case DType::kUint16: return parse_number<uint16_t>(text, out);
    case DType::kInt16: return parse_number<int16_t>(text, out);
    case DType::kUint32: return parse_number<uint32_t>(text, out);
    case DType::kInt32: return parse_number<int32_t>(text, out);
    case DType::kUint64: return parse_number<uint64_t>(text, out);
    case DType::kInt64: return parse_number<int64_t>(text, out);
    case DType::kFloat16: return parse_small(text, float_to_half, out);
    case DType::kBfloat16: return parse_small(text, float_to_bfloat16, out);
    case DType::kFloat32: return parse_number<float>(text, out);
    case DType::kFloat64: return parse_number<double>(text, out);
  }
  return false;
}

size_t convert_numbers(DType from, const uint8_t* in, size_t count, DType to, uint8_t* out) {
  if (from == DType::kBool) {
    if (to != DType::kBool) return 0;
    std::copy_n(in, count, out);
    return count;
  }
  if (from == DType::kInt64) return convert_all<int64_t>(in, count, to, out);
  if (from == DType::kUint64) return convert_all<uint64_t>(in, count, to, out);
  // JSON's parser gives only these four types (JsonType).
  return convert_all<double>(in, count, to, out);
}

bool elements_are_valid(DType dtype, std::span<const uint8_t> bytes) {
  return dtype != DType::kBool || std::ranges::all_of(bytes, [](uint8_t byte) { return byte <= 1; });
}

}  // namespace forebay
