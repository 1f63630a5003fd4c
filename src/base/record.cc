#include "base/record.h"

#include <cstring>

namespace forebay {

uint64_t Value::nbytes() const {
  if (kind != FieldKind::kTensor) return bytes.size();
  return static_cast<uint64_t>(shape().elements()) * dtype_size(dtype());
}

Status Value::write(std::span<uint8_t> out, WorkMemory& memory) {
  if (deferred) return deferred->write(out, memory);
  const Buffer& from = kind == FieldKind::kTensor ? tensor.buffer : bytes;
  if (!out.empty()) std::memcpy(out.data(), from.data(), out.size());
  return {};
}

Status Value::materialize(WorkMemory& memory) {
  if (!deferred) return {};
  FOREBAY_RETURN_IF_ERROR(memory.reserve(nbytes()));
  Tensor made = Tensor::allocate(dtype(), shape());
  FOREBAY_RETURN_IF_ERROR(deferred->write(made.buffer.mutable_span(), memory));
  tensor = std::move(made);
  deferred.reset();
  return {};
}

}  // namespace forebay
