#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/convert.h"
#include "forebay/dtype.h"

namespace forebay {

/// A float16 as the element of an array.
struct Half {
  uint16_t bits;
};
/// A bfloat16 as the element of an array.
struct Bfloat16 {
  uint16_t bits;
};

/// Floating types without a C++ type of their own. Their numbers are computed as float.
template <typename T>
constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

/// Calls `visit` with a value of the dtype's C++ type.
/// The visitor is instantiated for each of the thirteen types: keep code that does not depend on
/// the type outside.
template <typename Visit>
decltype(auto) with_element(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kBool: return visit(bool{});
    case DType::kUint8: return visit(uint8_t{});
    case DType::kInt8: return visit(int8_t{});
    case DType::kUint16: return visit(uint16_t{});
    case DType::kInt16: return visit(int16_t{});
    case DType::kUint32: return visit(uint32_t{});
    case DType::kInt32: return visit(int32_t{});
    case DType::kUint64: return visit(uint64_t{});
    case DType::kInt64: return visit(int64_t{});
    case DType::kFloat16: return visit(Half{});
    case DType::kBfloat16: return visit(Bfloat16{});
    case DType::kFloat32: return visit(float{});
    case DType::kFloat64: break;
  }
  return visit(double{});
}

/// The number that an element stands for, exactly.
template <typename T>
auto widen(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_to_float(value.bits);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return bfloat16_to_float(value.bits);
  } else {
    return value;
  }
}

/// Loads an element that may be unaligned: files place elements anywhere.
template <typename T>
T load_element(const uint8_t* in, int64_t i) {
  T value;
  std::memcpy(&value, in + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
void store_element(uint8_t* out, int64_t i, T value) {
  std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
bool is_aligned(const uint8_t* at) {
  return reinterpret_cast<uintptr_t>(at) % alignof(T) == 0;
}

/// out[i] = change(in[i]). `in` and `out` must not overlap.
template <typename In, typename Out, typename Change>
void map_elements(const uint8_t* in, uint8_t* out, int64_t n, Change change) {
  if (!is_aligned<In>(in) || !is_aligned<Out>(out)) {
    for (int64_t i = 0; i < n; ++i) store_element(out, i, change(load_element<In>(in, i)));
    return;
  }
  // Compilers vectorize this loop, but the one above only for some types.
  const In* const from = reinterpret_cast<const In*>(in);
  Out* const __restrict to = reinterpret_cast<Out*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = change(from[i]);
}

inline bool is_floating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

}  // namespace forebay
