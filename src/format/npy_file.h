#pragma once

#include <span>
#include <string>
#include <string_view>

#include "format/arrays.h"

namespace forebay {

/// What the header of a .npy file says.
struct NpyHeader {
  DType dtype = DType::kUint8;
  Shape shape;
  bool text = false;  ///< ArrayView::text: the last axis counts the characters
  size_t data_offset = 0;
};

/// Reads the header at the begin of a file of `file_bytes` bytes. Everything in it is checked: Corrupt where the file
/// is damaged or too short for its shape, Unsupported (with the way out) for Python objects, records, dates,
/// complex numbers, foreign byte order and Fortran order.
Result<NpyHeader> parse_npy_header(std::span<const uint8_t> head, uint64_t file_bytes);

/// A .npy file mapped into memory, read-only.
/// Errors name the file. The view keeps the mapping alive; a file that becomes shorter meanwhile is told by MappedFile::read().
Result<ArrayView> map_npy_file(const std::string& path);

}  // namespace forebay
