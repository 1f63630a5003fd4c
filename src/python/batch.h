#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "forebay/batch.h"

namespace forebay::python {

namespace nb = nanobind;

/// A batch as Python sees it. A field becomes an array, a list of bytes or text, or a list of such
/// lists when it is first read, and is then cached. Arrays share the batch's memory and keep it
/// alive themselves, so they hold no reference to the PyBatch.
class PyBatch {
 public:
  /// `convert` turns a NumPy array into the type that `output=` requests, such as
  /// torch.from_dlpack. For bfloat16 it gets an object that supports DLPack. None leaves NumPy
  /// arrays unchanged. With `read_only` the batch's memory cannot be written, and NumPy arrays are
  /// marked read-only.
  PyBatch(Batch batch, nb::object convert, bool read_only = false);

  const Batch& batch() const { return batch_; }
  nb::object field(const std::string& name);
  /// The arrays that the field consists of: values, and offsets and string offsets if it has them.
  nb::tuple buffers(const std::string& name) const;
  nb::object ids();
  nb::object positions();
  nb::list names() const;
  /// (name, type, bytes) of each field.
  nb::list descriptions() const;
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
