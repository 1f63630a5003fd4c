#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "codec/bmp_header.h"
#include "codec/pixels.h"

namespace forebay {
namespace {

/// The bits of one pixel.
uint32_t pixel_at(const BmpHeader& header, const uint8_t* row, int64_t x) {
  if (header.bits_per_pixel <= 8) {
    const int per_byte = 8 / header.bits_per_pixel, mask = (1 << header.bits_per_pixel) - 1;
    const int shift = 8 - header.bits_per_pixel - static_cast<int>(x % per_byte) * header.bits_per_pixel;
    return static_cast<uint32_t>(row[x / per_byte] >> shift & mask);
  }
  const int size = header.bits_per_pixel / 8;
  uint32_t pixel = 0;
  for (int i = 0; i < size; ++i) pixel |= uint32_t{row[x * size + i]} << (8 * i);
  return pixel;
}

/// Passes rows of the file to the sink in the sink's colours.
class RowConverter {
 public:
  RowConverter(const Rect& crop, ColorMode mode, RowSink& sink)
      : width_(crop.width), mode_(mode), sink_(sink),
        row_(static_cast<size_t>(crop.width * std::max(3, channels(mode)) + kRowSlackBytes)) {}

  /// Passes the pixels from `first` on.
  void emit(const BmpHeader& header, const uint8_t* row, int64_t first) {
    uint8_t* to = row_.data();
    for (int64_t x = first; x < first + width_; ++x, to += mode_ == ColorMode::kGray ? 3 : channels(mode_))
      put(header, pixel_at(header, row, x), to);
    if (mode_ == ColorMode::kGray) rgb_to_gray(row_.data(), width_, row_.data());
    sink_.row(row_.data());
  }

 private:
  void put(const BmpHeader& header, uint32_t pixel, uint8_t* to) const {
    if (mode_ == ColorMode::kPalette) {
      *to = static_cast<uint8_t>(pixel);
      return;
    }
    const uint8_t alpha =
        header.bits_per_pixel > 8 && header.alpha.max_value > 0 ? header.alpha.scaled(pixel) : uint8_t{255};
    if (mode_ == ColorMode::kAlpha) {
      *to = alpha;
      return;
    }
    if (header.bits_per_pixel <= 8) {
      std::memcpy(to, &header.palette[size_t{3} * pixel], 3);
    } else {
      for (size_t c = 0; c < 3; ++c) to[c] = header.channels[c].scaled(pixel);
    }
    if (mode_ == ColorMode::kRgba) to[3] = alpha;
  }

  int64_t width_;
  ColorMode mode_;
  RowSink& sink_;
  std::vector<uint8_t> row_;
};

Status decode_rows(Bytes bytes, const BmpHeader& header, const Rect& crop, RowConverter& converter) {
  const auto row_bytes = static_cast<uint64_t>(header.row_bytes());
  // The padding after the last row may be missing.
  const auto last_row_bytes = static_cast<uint64_t>((header.width * header.bits_per_pixel + 7) / 8);
  const uint64_t needed = row_bytes * static_cast<uint64_t>(header.height - 1) + last_row_bytes;
  if (header.pixels_offset > bytes.size() || needed > bytes.size() - header.pixels_offset)
    return corrupt("BMP ends early");
  for (int64_t y = crop.y; y < crop.y + crop.height; ++y) {
    const auto stored_y = static_cast<uint64_t>(header.top_down ? y : header.height - 1 - y);
    const uint8_t* row = bytes.data() + header.pixels_offset + stored_y * row_bytes;
    converter.emit(header, row, crop.x);
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
  return info;
}

std::optional<ImageHead> probe_bmp_head(Bytes head) {
  const Result<BmpHeader> header = read_bmp_header(head);
  if (!header.ok()) return std::nullopt;
  return ImageHead{header->width, header->height, 1};
}

Status decode_bmp(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink) {
  FOREBAY_ASSIGN(const BmpHeader header, read_bmp_header(bytes));
  if (header.width != info.stored_width || header.height != info.stored_height) {
    return corrupt("BMP whose header is not the one that was read before");
  }
  if (mode == ColorMode::kPalette && header.bits_per_pixel > 8) return no_palette("a BMP of more than 8 bits a pixel");
  RowConverter converter(crop, mode, sink);
  return decode_rows(bytes, header, crop, converter);
}

uint64_t bmp_working_bytes(const ImageInfo&, const Rect& crop, ColorMode) {
  constexpr uint64_t kFixedBytes = 16 * 1024;
  return kFixedBytes + static_cast<uint64_t>(crop.width) * 4;
}

}  // namespace forebay
