#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>

#include <jpeglib.h>

#include "codec/codec_test_support.h"

namespace forebay::codec_test {

struct JpegKind {
  int h = 2, v = 2;  ///< sampling of the first component; the others have 1 × 1
  bool progressive = false;
  int channels = 3;
  int restart_rows = 0;
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool arithmetic = false;
  bool scan_per_component = false;
};

/// A JPEG file of this kind with the pixels of test_pixels().
inline Blob encode_jpeg(int width, int height, const JpegKind& kind, uint32_t seed = 1) {
  jpeg_compress_struct library = {};
  jpeg_error_mgr errors;
  library.err = jpeg_std_error(&errors);
  jpeg_create_compress(&library);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&library, &memory, &size);
  library.image_width = static_cast<JDIMENSION>(width);
  library.image_height = static_cast<JDIMENSION>(height);
  library.input_components = kind.channels;
  library.in_color_space = kind.channels == 1 ? JCS_GRAYSCALE : kind.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&library);
  jpeg_set_colorspace(&library, kind.channels == 1 ? JCS_GRAYSCALE : kind.stored);
  jpeg_set_quality(&library, 85, TRUE);
  library.comp_info[0].h_samp_factor = kind.h;
  library.comp_info[0].v_samp_factor = kind.v;
  for (int c = 1; c < kind.channels; ++c) library.comp_info[c].h_samp_factor = library.comp_info[c].v_samp_factor = 1;
  if (kind.channels == 4 && kind.stored == JCS_YCCK) {
    library.comp_info[3].h_samp_factor = kind.h;
    library.comp_info[3].v_samp_factor = kind.v;
  }
  library.restart_in_rows = kind.restart_rows;
  library.arith_code = kind.arithmetic;
  if (kind.progressive) jpeg_simple_progression(&library);
  jpeg_scan_info scans[4] = {};
  if (kind.scan_per_component) {
    for (int c = 0; c < kind.channels; ++c) scans[c] = {1, {c, 0, 0, 0}, 0, 63, 0, 0};
    library.scan_info = scans;
    library.num_scans = kind.channels;
  }
  jpeg_start_compress(&library, TRUE);
  Blob pixels = test_pixels(width, height, kind.channels, seed);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<size_t>(y) * width * kind.channels;
    jpeg_write_scanlines(&library, &row, 1);
  }
  jpeg_finish_compress(&library);
  Blob bytes(memory, memory + size);
  jpeg_destroy_compress(&library);
  std::free(memory);
  return bytes;
}

}  // namespace forebay::codec_test
