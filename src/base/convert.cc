#include "base/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace forebay {

namespace {

template <typename T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  value = std::nearbyint(value);
  // The upper limits of 64-bit integers round up to a power of two as doubles, hence >= and <=.
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return static_cast<T>(value);
}

template <typename T>
void fill_with(T value, void* out, size_t count) {
  std::fill_n(static_cast<T*>(out), count, value);
}

}  // namespace

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to infinity
  if (magnitude < 0x38800000) {                       // subnormal half: let the adder round
    // Below 2^-14. The last bit of 0.5f is worth 2^-24, as is that of a subnormal half. So the sum
    // is rounded to exactly the representable values.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f));
  }
  // Drops 13 bits of the mantissa. Adding half of the last place less 1, plus the last bit, rounds
  // ties to even. 0x38000000 is 112 = 127 - 15 in the exponent. A carry out of the mantissa raises
  // the exponent, which is right.
  const uint32_t odd = (magnitude >> 13) & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  const float small = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -small : small;
}

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // Makes a quiet NaN: rounding could carry its payload into the sign, or clear it, which would be
  // infinity.
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  // Adding half of the last place less 1, plus the last bit, rounds ties to even. A carry out of
  // the mantissa raises the exponent.
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

void fill(DType dtype, double value, void* out, size_t count) {
  switch (dtype) {
    case DType::kBool: return fill_with<uint8_t>(value != 0, out, count);
    case DType::kUint8: return fill_with(saturate<uint8_t>(value), out, count);
    case DType::kInt8: return fill_with(saturate<int8_t>(value), out, count);
    case DType::kUint16: return fill_with(saturate<uint16_t>(value), out, count);
    case DType::kInt16: return fill_with(saturate<int16_t>(value), out, count);
    case DType::kUint32: return fill_with(saturate<uint32_t>(value), out, count);
    case DType::kInt32: return fill_with(saturate<int32_t>(value), out, count);
    case DType::kUint64: return fill_with(saturate<uint64_t>(value), out, count);
    case DType::kInt64: return fill_with(saturate<int64_t>(value), out, count);
    case DType::kFloat16: return fill_with(float_to_half(static_cast<float>(value)), out, count);
    case DType::kBfloat16: return fill_with(float_to_bfloat16(static_cast<float>(value)), out, count);
    case DType::kFloat32: return fill_with(static_cast<float>(value), out, count);
    case DType::kFloat64: return fill_with(value, out, count);
  }
}

}  // namespace forebay
