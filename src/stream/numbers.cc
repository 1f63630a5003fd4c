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

/// Calls `visit` with a value of that whole type; false for all other types.
template <typename Visit>
bool visit_whole_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kUint8: return visit(uint8_t{});
    case DType::kInt8: return visit(int8_t{});
    case DType::kUint16: return visit(uint16_t{});
    case DType::kInt16: return visit(int16_t{});
    case DType::kUint32: return visit(uint32_t{});
    case DType::kInt32: return visit(int32_t{});
    case DType::kUint64: return visit(uint64_t{});
    case DType::kInt64: return visit(int64_t{});
    default: return false;
  }
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
  if constexpr (std::integral<From>)
    return visit_whole_type(to, [&](auto whole) { return put_converted<decltype(whole)>(value, out); });
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
    case DType::kFloat16: return parse_small(text, float_to_half, out);
    case DType::kBfloat16: return parse_small(text, float_to_bfloat16, out);
    case DType::kFloat32: return parse_number<float>(text, out);
    case DType::kFloat64: return parse_number<double>(text, out);
    default: return visit_whole_type(dtype, [&](auto whole) { return parse_number<decltype(whole)>(text, out); });
  }
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
