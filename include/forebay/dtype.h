#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay {

/// Element types of tensors, named as in NumPy and ml_dtypes. New types are appended, because the
/// numbers are stored in files and messages.
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

/// Returns the bytes of one element.
size_t dtype_size(DType dtype);
/// Returns the name, such as "float32" or "uint8".
std::string_view dtype_name(DType dtype);
/// Returns the type of a name that dtype_name() returns, or nothing for any other text.
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace forebay
