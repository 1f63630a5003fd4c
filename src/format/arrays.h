#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/source.h"

namespace forebay {

class MappedFile;

/// A view of one array whose first axis is the sample. `owner` keeps the memory alive; nobody may
/// write to it.
struct ArrayView {
  DType dtype = DType::kUint8;
  Shape shape;
  const uint8_t* data = nullptr;
  std::shared_ptr<void> owner;
  /// Strides in bytes, one per axis; empty for a C-contiguous array.
  std::vector<int64_t> strides;
  /// True if each row is one text, padded with zeros (see text_of_row). The shape is then (samples,
  /// characters).
  bool text = false;
  /// The mapped file that `data` points into, if any. Only MappedFile may then touch the bytes.
  std::shared_ptr<const MappedFile> file = {};
};

/// One field of `fb.arrays`: the .npy file at `path`, or the array in memory if `path` is empty.
struct ArrayField {
  std::string name;
  ArrayView array;
  std::string path;
};

/// A source whose samples are the rows of arrays of equal length. Nothing is fetched: values refer
/// to the arrays' memory, or are copied from the mapped file when they are used. The version is a
/// hash of names, types, shapes and a bounded sample of the content. Opening reads only headers and
/// that sample.
///
/// Errors: InvalidArgument if there is no array or the lengths differ; for files those of
/// map_npy_file().
Result<std::unique_ptr<Source>> open_arrays(std::vector<ArrayField> fields);

}  // namespace forebay
