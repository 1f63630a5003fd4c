#include "base/whole_number.h"

#include <cstring>

namespace forebay {

std::optional<int64_t> whole_number(const Value& value) {
  const Tensor& tensor = value.tensor;
  if (value.kind != FieldKind::kTensor || value.deferred || tensor.shape.rank() != 0 || !is_whole(tensor.dtype))
    return std::nullopt;
  uint64_t bits = 0;
  // Fills the low bytes: hosts are little-endian.
  std::memcpy(&bits, tensor.buffer.data(), tensor.nbytes());
  // Shifts up, and down again as a signed number, which extends the sign. A 64-bit value has no
  // unused bits.
  const auto unused = static_cast<unsigned>(64 - 8 * tensor.nbytes());
  switch (tensor.dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32: return static_cast<int64_t>(bits << unused) >> unused;
    default: return static_cast<int64_t>(bits);
  }
}

}  // namespace forebay
