#pragma once

#include <span>
#include <string>
#include <string_view>

#include "format/arrays.h"

namespace forebay {

/// The contents of the header of a .npy file.
struct NpyHeader {
  DType dtype = DType::kUint8;
  Shape shape;
  bool text = false;  ///< as ArrayView::text: the last axis counts characters
  size_t data_offset = 0;
};

/// Parses the header at the beginning of a file of `file_bytes` bytes. Every field is checked:
/// Corrupt if the file is damaged or too short for its shape; Unsupported, with a remedy, for
/// Python objects, records, dates, complex numbers, foreign byte order and Fortran order.
Result<NpyHeader> parse_npy_header(std::span<const uint8_t> head, uint64_t file_bytes);

/// Maps a .npy file into memory, read-only. Errors name the file. The view keeps the mapping alive.
/// If the file is truncated later, MappedFile::read() returns an error.
Result<ArrayView> map_npy_file(const std::string& path);

}  // namespace forebay
