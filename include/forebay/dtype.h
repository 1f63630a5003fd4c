#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay {

/// Element types of tensors, named as NumPy names them.
enum class DType : uint8_t {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
};

size_t dtype_size(DType dtype);
/// "float32", "uint8", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace forebay
