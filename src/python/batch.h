#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "forebay/batch.h"

namespace forebay::python {

namespace nb = nanobind;

/// A batch as Python sees it: fields become arrays, or lists of bytes and text or of lists of them, when first looked at, and are kept then.
/// Arrays share the batch's memory and keep it alive by themselves, so nothing here points back at the batch.
class PyBatch {
 public:
  /// `convert` makes what `output=` asks for of a NumPy array (torch.from_dlpack), of bfloat16 of an object
  /// that speaks DLPack; None leaves it as it is. `read_only`: its memory
  /// cannot be written, which NumPy is told.
  PyBatch(Batch batch, nb::object convert, bool read_only = false);

  const Batch& batch() const { return batch_; }
  nb::object field(const std::string& name);
  /// The arrays that the field lies in: values, offsets, offsets of strings, as far as it has them.
  nb::tuple buffers(const std::string& name) const;
  nb::object ids();
  nb::object positions();
  nb::list names() const;
  nb::list items();
  std::string to_string() const;

 private:
  nb::object make(const BatchField& field) const;
  nb::object array(const std::string& field, Tensor tensor) const;

  Batch batch_;
  nb::object convert_;
  bool read_only_;
  std::vector<nb::object> made_;
  nb::object ids_, positions_;
};

void bind_batch(nb::module_& module);

}  // namespace forebay::python
