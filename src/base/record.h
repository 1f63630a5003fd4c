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

/// A tensor that is not computed yet. Operators change what it will be; writing it does the work once, into its final place.
class Deferred {
 public:
  virtual ~Deferred() = default;
  virtual DType dtype() const = 0;
  /// Fully known.
  virtual Shape shape() const = 0;
  /// Writes dtype/shape's bytes to `out` (exactly that long).
  virtual Status write(std::span<uint8_t> out, WorkMemory& memory) = 0;
  /// The same computation; operators on one do not change the other.
  virtual std::unique_ptr<Deferred> clone() const = 0;
};

/// One field of one sample.
struct Value {
  FieldKind kind = FieldKind::kAny;    ///< kAny: empty
  Tensor tensor;                       ///< kTensor, unless deferred
  Buffer bytes;                        ///< kBytes and kText; kBytesList and kTextList: as a StringList
  std::unique_ptr<Deferred> deferred;  ///< kTensor: computed when written

  static Value of(Tensor tensor) { return {FieldKind::kTensor, std::move(tensor), {}, nullptr}; }
  static Value of_bytes(Buffer bytes) { return {FieldKind::kBytes, {}, std::move(bytes), nullptr}; }
  static Value of_text(Buffer bytes) { return {FieldKind::kText, {}, std::move(bytes), nullptr}; }
  /// `run`: a StringList.
  static Value of_list(FieldKind kind, Buffer run) { return {kind, {}, std::move(run), nullptr}; }
  static Value of(std::unique_ptr<Deferred> deferred) { return {FieldKind::kTensor, {}, {}, std::move(deferred)}; }

  DType dtype() const { return deferred ? deferred->dtype() : tensor.dtype; }
  Shape shape() const { return deferred ? deferred->shape() : tensor.shape; }
  /// The same value, sharing memory that nobody changes.
  Value copy() const { return {kind, tensor, bytes, deferred ? deferred->clone() : nullptr}; }
  /// Bytes that write() makes.
  uint64_t nbytes() const;
  /// Puts the value's bytes at `out`, computing it if it was deferred.
  Status write(std::span<uint8_t> out, WorkMemory& memory);
  /// Computes a deferred tensor now, for operators that need its values. Its memory is reserved first.
  Status materialize(WorkMemory& memory);
};

/// The fields of one sample while it goes through the operators, in the order of the schema at that point.
using Record = std::vector<Value>;

}  // namespace forebay
