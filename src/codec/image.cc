#include "codec/image.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "base/sniff.h"
#include "codec/formats.h"
#include "codec/pixels.h"

namespace forebay {
namespace {

// Rows of such pictures, and products of two sides, stay within 63 bits.
constexpr int64_t kMaxSide = 1 << 30;

/// One row per format: the kind of its files, and its functions.
struct Format {
  ImageFormat format;
  FileKind kind;
  std::string_view name;
  Result<ImageInfo> (*probe)(Bytes);
  Status (*decode)(Bytes, const ImageInfo&, const Rect&, ColorMode, RowSink&);
  uint64_t (*working_bytes)(const ImageInfo&, const Rect&, ColorMode);
};

constexpr std::array<Format, 4> kFormats = {{
    {ImageFormat::kJpeg, FileKind::kJpeg, "JPEG", probe_jpeg, decode_jpeg, jpeg_working_bytes},
    {ImageFormat::kPng, FileKind::kPng, "PNG", probe_png, decode_png, png_working_bytes},
    {ImageFormat::kWebp, FileKind::kWebp, "WebP", probe_webp, decode_webp, webp_working_bytes},
    {ImageFormat::kBmp, FileKind::kBmp, "BMP", probe_bmp, decode_bmp, bmp_working_bytes},
}};

const Format& row_of(ImageFormat format) { return kFormats[static_cast<size_t>(format)]; }

const Format* find_format(Bytes bytes) {
  const auto found = std::ranges::find(kFormats, sniff(bytes).kind, &Format::kind);
  return found == kFormats.end() ? nullptr : &*found;
}

bool inside(const Rect& rect, const ImageInfo& info) {
  return rect.x >= 0 && rect.y >= 0 && rect.width > 0 && rect.height > 0 && rect.width <= info.stored_width &&
         rect.height <= info.stored_height && rect.x <= info.stored_width - rect.width &&
         rect.y <= info.stored_height - rect.height;
}

/// Whether the format's decoder gives 16 bits by itself.
bool gives_wide(const ImageInfo& info) { return info.format == ImageFormat::kPng && info.bits == 16; }

/// 8 bits to 16: 255 becomes 65535.
class WideRows final : public RowSink {
 public:
  WideRows(RowSink& sink, int64_t width) : sink_(sink), wide_(static_cast<size_t>(3 * width + kRowSlackBytes / 2)) {}
  void row(const uint8_t* row) override {
    const size_t samples = wide_.size() - kRowSlackBytes / 2;
    for (size_t i = 0; i < samples; ++i) wide_[i] = static_cast<uint16_t>(row[i] * 257);
    sink_.row(reinterpret_cast<const uint8_t*>(wide_.data()));
  }

 private:
  RowSink& sink_;
  std::vector<uint16_t> wide_;
};

}  // namespace

std::string_view image_format_name(ImageFormat format) { return row_of(format).name; }

bool looks_like_image(std::span<const uint8_t> head) { return find_format(head) != nullptr; }

Result<ImageInfo> probe_image(std::span<const uint8_t> bytes) {
  const Format* format = find_format(bytes);
  if (format == nullptr) return wrong_file("a JPEG, PNG, WebP or BMP image", bytes);
  FOREBAY_ASSIGN(ImageInfo info, format->probe(bytes));
  if (info.stored_width <= 0 || info.stored_height <= 0) {
    return corrupt(fmt::format("{} of {} × {} pixels", format->name, info.stored_width, info.stored_height));
  }
  if (info.stored_width > kMaxSide || info.stored_height > kMaxSide) {
    return unsupported(fmt::format("{} of {} × {} pixels: a side is longer than {}", format->name, info.stored_width,
                                   info.stored_height, kMaxSide));
  }
  return info;
}

uint64_t decode_working_bytes(const ImageInfo& info, const Rect& stored_crop, ColorMode mode) {
  if (mode != ColorMode::kRgb16 || gives_wide(info)) return row_of(info.format).working_bytes(info, stored_crop, mode);
  const auto row = static_cast<uint64_t>(stored_crop.width * pixel_bytes(mode) + kRowSlackBytes);
  return row + row_of(info.format).working_bytes(info, stored_crop, ColorMode::kRgb);
}

Status decode_rows(std::span<const uint8_t> bytes, const ImageInfo& info, const Rect& stored_crop, ColorMode mode,
                   RowSink& sink) {
  if (!inside(stored_crop, info)) {
    return invalid_argument(fmt::format("crop {}×{} at ({}, {}) is not inside the stored picture of {}×{}",
                                        stored_crop.width, stored_crop.height, stored_crop.x, stored_crop.y,
                                        info.stored_width, info.stored_height));
  }
  const Format& format = row_of(info.format);
  // `info` may be of other bytes (a file that changed since it was probed); each format checks the rest.
  if (sniff(bytes).kind != format.kind) return corrupt(fmt::format("not a {} image any more", format.name));
  try {
    if (mode == ColorMode::kRgb16 && !gives_wide(info)) {
      WideRows wide(sink, stored_crop.width);
      return format.decode(bytes, info, stored_crop, ColorMode::kRgb, wide);
    }
    return format.decode(bytes, info, stored_crop, mode, sink);
  } catch (const std::bad_alloc&) {
    const uint64_t needed = decode_working_bytes(info, stored_crop, mode);
    return out_of_budget(fmt::format("no memory for decoding a {}: up to {} bytes are needed", format.name, needed),
                         needed);
  }
}

}  // namespace forebay
