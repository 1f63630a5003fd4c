#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "format/hdf5/file_bytes.h"

namespace forebay {

/// A local heap, which holds the names of the members of old-style groups.
class Hdf5LocalHeap {
 public:
  /// Corrupt if there is no heap at the address.
  static Result<Hdf5LocalHeap> open(Hdf5Metadata& file, uint64_t address);
  /// Reads the text at an offset in the heap. Corrupt if there is none.
  Result<std::string> text(uint64_t offset) const;

 private:
  Buffer data_;
};

/// A fractal heap, which holds the links or attributes of objects with many of them.
class Hdf5FractalHeap {
 public:
  /// Corrupt if the heap is damaged; Unsupported if it is compressed.
  static Result<Hdf5FractalHeap> open(Hdf5Metadata& file, uint64_t address);
  /// The object with an id that a B-tree record holds. Corrupt if it is not there; Unsupported if
  /// it has more than 64 KiB.
  Result<Buffer> get(Hdf5Metadata& file, std::span<const uint8_t> id) const;

 private:
  Result<Buffer> managed(Hdf5Metadata& file, uint64_t offset, uint64_t length) const;
  uint64_t row_bytes(uint64_t row) const;

  uint64_t root_ = kHdf5NoAddress, first_block_ = 0, largest_block_ = 0;
  uint16_t width_ = 0, root_rows_ = 0;
  size_t offset_bytes_ = 0, length_bytes_ = 0;
};

/// Reads values of variable length from the file's global heap collections. The objects of the
/// collection used last are cached.
class Hdf5GlobalHeap {
 public:
  /// The value at `index` of the collection at an address. Empty if the reference stands for an
  /// empty value; Corrupt if it is not there.
  Result<Buffer> get(Hdf5Metadata& file, uint64_t collection, uint32_t index);

 private:
  Status load(Hdf5Metadata& file, uint64_t collection);

  uint64_t loaded_ = kHdf5NoAddress;
  std::map<uint32_t, Buffer> objects_;
};

}  // namespace forebay
