#include "codec/versions.h"

#include <cstdio>  // needed by jpeglib.h

#include <fmt/format.h>
#include <jpeglib.h>
#include <spng.h>
#include <webp/decode.h>

namespace forebay {

std::string codec_versions() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  const int jpeg = LIBJPEG_TURBO_VERSION_NUMBER;
#else
  const int jpeg = JPEG_LIB_VERSION;
#endif
  return fmt::format("jpeg {} spng {} webp {:x}", jpeg, spng_version_string(), WebPGetDecoderVersion());
}

}  // namespace forebay
