#include "codec/versions.h"

#include <cstdio>  // jpeglib.h needs it

#include <fmt/format.h>
#include <jpeglib.h>
#include <mpg123.h>
#include <sndfile.h>
#include <soxr.h>
#include <spng.h>
#include <webp/decode.h>

namespace forebay {

std::string codec_versions() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  const int jpeg = LIBJPEG_TURBO_VERSION_NUMBER;
#else
  const int jpeg = JPEG_LIB_VERSION;
#endif
  return fmt::format("jpeg {} spng {} webp {:x} {} mpg123 {} {}", jpeg, spng_version_string(), WebPGetDecoderVersion(),
                     sf_version_string(), MPG123_API_VERSION, soxr_version());
}

}  // namespace forebay
