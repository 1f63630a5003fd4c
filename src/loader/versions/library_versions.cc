#include "loader/versions/library_versions.h"

#include <cstdio>  // needed by jpeglib.h

#include <fmt/format.h>
#include <jpeglib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <spng.h>
#include <webp/decode.h>
#include <xxhash.h>
#include <zstd.h>
#include <nlohmann/json.hpp>

// Compiled by itself: jpeglib.h defines macros with common names.

#define FOREBAY_TEXT_OF(tokens) #tokens
#define FOREBAY_TEXT(macro) FOREBAY_TEXT_OF(macro)

namespace forebay {

namespace {

/// The version of a library that counts each part from 0 to `base` - 1.
std::string dotted(unsigned number, unsigned base) {
  return fmt::format("{}.{}.{}", number / base / base, number / base % base, number % base);
}

LibraryVersion jpeg() {
#ifdef LIBJPEG_TURBO_VERSION
  return {"libjpeg-turbo", FOREBAY_TEXT(LIBJPEG_TURBO_VERSION)};
#else
  return {"libjpeg", FOREBAY_TEXT(JPEG_LIB_VERSION)};
#endif
}

}  // namespace

std::vector<LibraryVersion> library_versions() {
  return {{"fmt", dotted(FMT_VERSION, 100)},
          {"libdeflate", LIBDEFLATE_VERSION_STRING},
          jpeg(),
          {"libspng", spng_version_string()},
          {"libwebp", dotted(static_cast<unsigned>(WebPGetDecoderVersion()), 256)},
          {"lz4", LZ4_versionString()},
          {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"xxHash", dotted(XXH_versionNumber(), 100)},
          {"zstd", ZSTD_versionString()}};
}

}  // namespace forebay
