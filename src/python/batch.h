#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "forebay/batch.h"

namespace forebay::python {

namespace nb = nanobind;

/// A batch as Python sees it. A dense field becomes an array, a ragged one a tuple (values,
/// offsets), a field of bytes or text a list, and a field of lists of these a list of lists. It is
/// converted when it is first read, and cached. Arrays share the batch's memory and keep it alive
/// themselves, so they hold no reference to the PyBatch.
class PyBatch {
 public:
  /// `convert` turns a NumPy array into the type that `output=` requests, such as
  /// torch.from_dlpack. None leaves NumPy arrays unchanged. For bfloat16, which NumPy does not
  /// have, it gets an object that supports DLPack. With `read_only` the batch's memory cannot be
  /// written, and NumPy arrays are marked read-only.
  PyBatch(Batch batch, nb::object convert, bool read_only = false);

  const Batch& batch() const { return batch_; }
  /// The object that a function made of all samples: its token, or for a batch of a server its
  /// pickle, a uint8 array. None if the batch has fields.
  nb::object object() const;
  /// KeyError if there is no such field.
  nb::object field(const std::string& name);
  /// The arrays that the field consists of: values, and offsets and string offsets if it has them.
  /// KeyError if there is no such field.
  nb::tuple buffers(const std::string& name) const;
  /// Ids in the data set: int64, one per row. Cached.
  nb::object ids();
  nb::object parts();
  nb::list part_names() const;
  /// Places in the order of the epoch: int64, one per row. Cached.
  nb::object positions();
  nb::list names() const;
  /// (name, type, bytes) of each field.
  nb::list descriptions() const;
  nb::list items();
  std::string to_string() const;

 private:
  nb::object to_python(const BatchField& field) const;
  nb::object to_array(const std::string& field, Tensor tensor) const;

  Batch batch_;
  nb::object convert_array_;
  bool read_only_;
  std::vector<nb::object> cached_fields_;  ///< by index of the field; invalid until it is read
  nb::object ids_, positions_, parts_;
};

void bind_batch(nb::module_& module);

}  // namespace forebay::python
