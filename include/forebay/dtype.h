#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay {

/// Element types of tensors, named as NumPy and ml_dtypes name them. New ones are appended: the numbers are in files and messages.
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
  kBfloat16,  ///< the upper half of a float32
};
inline constexpr size_t kDTypeCount = static_cast<size_t>(DType::kBfloat16) + 1;

size_t dtype_size(DType dtype);
/// "float32", "uint8", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace forebay
