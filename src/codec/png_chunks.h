#pragma once

#include <cstdint>
#include <string_view>

#include "codec/formats.h"

namespace forebay {

/// One chunk of a PNG file, as views of the file.
struct PngChunk {
  std::string_view type;  ///< four letters
  Bytes payload;
  Bytes whole;  ///< length, type, payload and CRC

  bool critical() const { return (type[0] & 0x20) == 0; }
  bool crc_matches() const;
};

/// Iterates over the chunks of a PNG file. Chunks are views of the file; nothing is copied. A CRC
/// is checked only on request.
class PngChunks {
 public:
  /// `bytes` must begin with the signature.
  explicit PngChunks(Bytes bytes) : bytes_(bytes), position_(kSignatureBytes) {}
  /// Corrupt if the file ends before the chunk does.
  Result<PngChunk> next();

  static constexpr size_t kSignatureBytes = 8;

 private:
  Bytes bytes_;
  size_t position_;
};

/// The colour type of a PNG header.
enum class PngColor : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgbAlpha = 6 };

/// The contents of the IHDR chunk.
struct PngHeader {
  int64_t width = 0, height = 0;
  int bits = 8;
  PngColor color = PngColor::kRgb;
  bool interlaced = false;

  int components() const;
  /// Size of a row of `pixels` pixels.
  int64_t row_bytes(int64_t pixels) const { return (pixels * components() * bits + 7) / 8; }
};
Result<PngHeader> read_png_header(Bytes bytes);

}  // namespace forebay
