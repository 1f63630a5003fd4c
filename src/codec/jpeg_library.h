#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // needed by jpeglib.h

#include <jpeglib.h>

#include "codec/formats.h"

namespace forebay {

/// A libjpeg decompressor that reports failures as a Status.
///
/// libjpeg reports an error by calling a function that must not return. run() is the only place
/// that calls the library. The error function jumps back to it, across C frames and frames of
/// `steps`, so nothing in `steps` may have a destructor. Warnings that mean wrong pixels are errors
/// here; harmless ones are ignored.
class JpegLibrary {
 public:
  JpegLibrary() = default;
  JpegLibrary(const JpegLibrary&) = delete;
  JpegLibrary& operator=(const JpegLibrary&) = delete;

  /// Decodes `bytes` by calling steps(library, context). Afterwards the library holds no memory of
  /// this image.
  Status run(Bytes bytes, void (*steps)(jpeg_decompress_struct* library, void* context), void* context);

 private:
  struct ErrorManager {
    jpeg_error_mgr base;
    std::jmp_buf back;
    bool ended_early;
  };
  static void on_error(j_common_ptr library);
  static void on_message(j_common_ptr library, int level);
  static boolean on_empty(j_decompress_ptr library);
  static void on_skip(j_decompress_ptr library, long count);

  void prepare(Bytes bytes);
  Status error_status();

  jpeg_decompress_struct library_ = {};
  ErrorManager errors_ = {};
  jpeg_source_mgr source_ = {};
};

}  // namespace forebay
