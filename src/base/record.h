#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/schema.h"
#include "base/work_memory.h"
#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// A tensor that is not computed yet. Operators change the pending computation; write() runs it
/// once, directly into its final memory.
class Deferred {
 public:
  virtual ~Deferred() = default;
  virtual DType dtype() const = 0;
  /// Fully known.
  virtual Shape shape() const = 0;
  /// Computes the tensor into `out`, which has exactly the size of dtype and shape.
  virtual Status write(std::span<uint8_t> out, WorkMemory& memory) = 0;
  /// A copy of the computation; operators on one copy do not change the other.
  virtual std::unique_ptr<Deferred> clone() const = 0;
};

/// One field of one sample.
struct Value {
  FieldKind kind = FieldKind::kAny;    ///< kAny: no value
  Tensor tensor;                       ///< kTensor, unless deferred
  Buffer bytes;                        ///< kBytes, kText; a StringList for kBytesList, kTextList
  std::unique_ptr<Deferred> deferred;  ///< kTensor: computed when written

  static Value of(Tensor tensor) { return {FieldKind::kTensor, std::move(tensor), {}, nullptr}; }
  static Value of_bytes(Buffer bytes) { return {FieldKind::kBytes, {}, std::move(bytes), nullptr}; }
  static Value of_text(Buffer bytes) { return {FieldKind::kText, {}, std::move(bytes), nullptr}; }
  /// `run`: a StringList.
  static Value of_list(FieldKind kind, Buffer run) { return {kind, {}, std::move(run), nullptr}; }
  static Value of(std::unique_ptr<Deferred> deferred) { return {FieldKind::kTensor, {}, {}, std::move(deferred)}; }

  DType dtype() const { return deferred ? deferred->dtype() : tensor.dtype; }
  Shape shape() const { return deferred ? deferred->shape() : tensor.shape; }
  /// The same value. Immutable memory is shared.
  Value copy() const { return {kind, tensor, bytes, deferred ? deferred->clone() : nullptr}; }
  /// Number of bytes that write() produces.
  uint64_t nbytes() const;
  /// Writes the value's bytes to `out`, and computes them first if the value is deferred.
  Status write(std::span<uint8_t> out, WorkMemory& memory);
  /// Computes a deferred tensor now, for operators that need its values. Reserves its memory first.
  Status materialize(WorkMemory& memory);
};

/// The fields of one sample on its way through the operators, in the order of the current schema.
using Record = std::vector<Value>;

}  // namespace forebay
