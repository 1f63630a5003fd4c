#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/source.h"

namespace forebay {

class MappedFile;

/// A view of one array whose first axis is the sample. It stays alive through `owner`, and nobody may write to it.
struct ArrayView {
  DType dtype = DType::kUint8;
  Shape shape;
  const uint8_t* data = nullptr;
  std::shared_ptr<void> owner;
  /// In bytes, one per axis; empty for a C-contiguous array.
  std::vector<int64_t> strides;
  /// Rows of characters filled up with zeros (see text_of_row), each one text. The shape is (samples, characters).
  bool text = false;
  /// What `data` lies in and may be touched by alone, where that is a file.
  std::shared_ptr<const MappedFile> file = {};
};

/// One field of `fb.arrays`: an array in memory, or the path of a .npy file where `path` is not empty.
struct ArrayField {
  std::string name;
  ArrayView array;
  std::string path;
};

/// Arrays of one first axis as a source of samples; nothing is fetched, values refer to the arrays' own memory, or are copied from their
/// file where they are used. The version is a hash of names, types, shapes and a bounded sample of the content.
/// InvalidArgument where the arrays differ in length or there is none; for files what map_npy_file() says. Nothing is read but headers and
/// that sample of the content.
Result<std::unique_ptr<Source>> open_arrays(std::vector<ArrayField> fields);

}  // namespace forebay
