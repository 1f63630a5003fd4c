#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "codec/bmp_header.h"
#include "codec/bmp_rle.h"
#include "codec/pixels.h"

namespace forebay {
namespace {

/// Writes `count` pixels, from `first` on, of a row of file data as RGB.
void convert_indexed(const BmpHeader& header, const uint8_t* row, int64_t first, int64_t count, uint8_t* rgb) {
  const int per_byte = 8 / header.bits, mask = (1 << header.bits) - 1;
  for (int64_t x = first; x < first + count; ++x, rgb += 3) {
    const int shift = 8 - header.bits - static_cast<int>(x % per_byte) * header.bits;
    std::memcpy(rgb, &header.palette[static_cast<size_t>(3 * (row[x / per_byte] >> shift & mask))], 3);
  }
}

void convert_direct(const BmpHeader& header, const uint8_t* row, int64_t first, int64_t count, uint8_t* rgb) {
  const int size = header.bits / 8;
  for (const uint8_t* from = row + first * size; count > 0; --count, from += size, rgb += 3) {
    uint32_t pixel = 0;
    for (int i = 0; i < size; ++i) pixel |= uint32_t{from[i]} << (8 * i);
    for (size_t c = 0; c < 3; ++c) rgb[c] = header.channels[c].value(pixel);
  }
}

/// Gives rows to the sink in its colours.
class Giver {
 public:
  Giver(const Rect& crop, ColorMode mode, RowSink& sink)
      : width_(crop.width), mode_(mode), sink_(sink), rgb_(static_cast<size_t>(crop.width * 3 + kRowSlackBytes)) {}
  uint8_t* rgb() { return rgb_.data(); }
  void give() {
    if (mode_ == ColorMode::kGray) rgb_to_gray(rgb(), width_, rgb());
    sink_.row(rgb());
  }

 private:
  int64_t width_;
  ColorMode mode_;
  RowSink& sink_;
  std::vector<uint8_t> rgb_;
};

Status decode_plain(Bytes bytes, const BmpHeader& header, const Rect& crop, Giver& giver) {
  const auto row_bytes = static_cast<uint64_t>(header.row_bytes());
  // The padding behind the last row may be missing.
  const auto last_row_bytes = static_cast<uint64_t>((header.width * header.bits + 7) / 8);
  const uint64_t needed = row_bytes * static_cast<uint64_t>(header.height - 1) + last_row_bytes;
  if (header.data_offset > bytes.size() || needed > bytes.size() - header.data_offset) return corrupt("BMP ends early");
  for (int64_t y = crop.y; y < crop.y + crop.height; ++y) {
    const auto stored_y = static_cast<uint64_t>(header.top_down ? y : header.height - 1 - y);
    const uint8_t* row = bytes.data() + header.data_offset + stored_y * row_bytes;
    const auto convert = header.bits <= 8 ? convert_indexed : convert_direct;
    convert(header, row, crop.x, crop.width, giver.rgb());
    giver.give();
  }
  return {};
}

Status decode_runs(Bytes bytes, BmpHeader header, const Rect& crop, Giver& giver) {
  std::vector<uint8_t> indices(static_cast<size_t>(crop.width * crop.height));
  FOREBAY_RETURN_IF_ERROR(unpack_bmp_runs(bytes, header, crop, indices.data()));
  // The runs have been unpacked to a byte a pixel.
  header.bits = 8;
  for (int64_t y = 0; y < crop.height; ++y) {
    convert_indexed(header, indices.data() + y * crop.width, 0, crop.width, giver.rgb());
    giver.give();
  }
  return {};
}

}  // namespace

Result<ImageInfo> probe_bmp(Bytes bytes) {
  FOREBAY_ASSIGN(const BmpHeader header, read_bmp_header(bytes));
  ImageInfo info;
  info.format = ImageFormat::kBmp;
  info.stored_width = header.width;
  info.stored_height = header.height;
  info.progressive = header.coding != BmpCoding::kPlain;
  return info;
}

Status decode_bmp(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink) {
  FOREBAY_ASSIGN(const BmpHeader header, read_bmp_header(bytes));
  const bool runs = header.coding != BmpCoding::kPlain;
  if (header.width != info.stored_width || header.height != info.stored_height || runs != info.progressive) {
    return corrupt("BMP whose header is not the one that was read before");
  }
  Giver giver(crop, mode, sink);
  return runs ? decode_runs(bytes, header, crop, giver) : decode_plain(bytes, header, crop, giver);
}

uint64_t bmp_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode) {
  constexpr uint64_t kFixedBytes = 16 * 1024;
  const uint64_t frame = info.progressive ? static_cast<uint64_t>(crop.width) * static_cast<uint64_t>(crop.height) : 0;
  return kFixedBytes + static_cast<uint64_t>(crop.width) * 3 + frame;
}

}  // namespace forebay
