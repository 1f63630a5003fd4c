#include "codec/image.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/sniff.h"
#include "codec/formats.h"
#include "codec/pixels.h"

namespace forebay {
namespace {

// Rows of such images, and products of two sides, fit 63 bits.
constexpr int64_t kMaxSide = 1 << 30;

/// One row per format: the kind of its files, and its functions.
struct Format {
  ImageFormat format;
  FileKind kind;
  std::string_view name;
  Result<ImageInfo> (*probe)(Bytes);
  std::optional<ImageHead> (*probe_head)(Bytes);
  Status (*decode)(Bytes, const ImageInfo&, const Rect&, ColorMode, RowSink&);
  uint64_t (*working_bytes)(const ImageInfo&, const Rect&, ColorMode);
};

constexpr std::array<Format, 4> kFormats = {{
    {ImageFormat::kJpeg, FileKind::kJpeg, "JPEG", probe_jpeg, probe_jpeg_head, decode_jpeg, jpeg_working_bytes},
    {ImageFormat::kPng, FileKind::kPng, "PNG", probe_png, probe_png_head, decode_png, png_working_bytes},
    {ImageFormat::kWebp, FileKind::kWebp, "WebP", probe_webp, probe_webp_head, decode_webp, webp_working_bytes},
    {ImageFormat::kBmp, FileKind::kBmp, "BMP", probe_bmp, probe_bmp_head, decode_bmp, bmp_working_bytes},
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

/// The mode requested from a format's decoder, and how its rows are converted. Some formats support
/// neither 16 bits nor alpha.
struct DecoderMode {
  ColorMode mode;
  std::unique_ptr<RowSink> (*adapt)(RowSink& sink, const Rect& crop, ColorMode mode);
};

/// Converts 8 bits to 16: 255 becomes 65535.
class WideRows final : public RowSink {
 public:
  WideRows(RowSink& sink, int64_t samples) : sink_(sink), wide_(static_cast<size_t>(samples + kRowSlackBytes / 2)) {}
  void row(const uint8_t* row) override {
    const size_t samples = wide_.size() - kRowSlackBytes / 2;
    for (size_t i = 0; i < samples; ++i) wide_[i] = static_cast<uint16_t>(row[i] * 257);
    sink_.row(reinterpret_cast<const uint8_t*>(wide_.data()));
  }

 private:
  RowSink& sink_;
  std::vector<uint16_t> wide_;
};

/// Converts RGB to RGBA, or anything to alpha alone, with alpha 255 everywhere.
class OpaqueRows final : public RowSink {
 public:
  OpaqueRows(RowSink& sink, int64_t width, ColorMode mode)
      : sink_(sink), width_(width), mode_(mode),
        row_(static_cast<size_t>(width * channels(mode) + kRowSlackBytes), uint8_t{255}) {}
  void row(const uint8_t* row) override {
    for (int64_t x = 0; mode_ == ColorMode::kRgba && x < width_; ++x) std::memcpy(&row_[4 * x], row + 3 * x, 3);
    sink_.row(row_.data());
  }

 private:
  RowSink& sink_;
  const int64_t width_;
  const ColorMode mode_;
  std::vector<uint8_t> row_;
};

std::unique_ptr<RowSink> widened(RowSink& sink, const Rect& crop, ColorMode mode) {
  return std::make_unique<WideRows>(sink, crop.width * channels(mode));
}
std::unique_ptr<RowSink> opaque(RowSink& sink, const Rect& crop, ColorMode mode) {
  return std::make_unique<OpaqueRows>(sink, crop.width, mode);
}

DecoderMode decoder_mode(const ImageInfo& info, ColorMode mode) {
  const bool wide = info.format == ImageFormat::kPng && info.bits == 16;
  if (is_wide(mode) && !wide) return {mode == ColorMode::kRgb16 ? ColorMode::kRgb : ColorMode::kGray, widened};
  // For alpha alone the cheaper mode suffices: pixels are decoded only to detect a damaged file.
  if (has_alpha(mode) && info.format == ImageFormat::kJpeg)
    return {mode == ColorMode::kRgba ? ColorMode::kRgb : ColorMode::kGray, opaque};
  return {mode, nullptr};
}

constexpr std::pair<ColorMode, std::string_view> kModes[] = {
    {ColorMode::kRgb, "rgb"},      {ColorMode::kGray, "gray"},   {ColorMode::kPalette, "palette"},
    {ColorMode::kRgba, "rgba"},    {ColorMode::kAlpha, "alpha"}, {ColorMode::kRgb16, "rgb16"},
    {ColorMode::kGray16, "gray16"}};

}  // namespace

std::string_view color_mode_name(ColorMode mode) {
  return std::ranges::find(kModes, mode, [](const auto& one) { return one.first; })->second;
}

std::optional<ColorMode> color_mode_from_name(std::string_view name) {
  const auto found = std::ranges::find(kModes, name, [](const auto& one) { return one.second; });
  return found == std::end(kModes) ? std::nullopt : std::optional(found->first);
}

std::string color_mode_names() {
  std::string names;
  for (const auto& [mode, name] : kModes) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  return names;
}

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

std::optional<ImageHead> probe_image_head(std::span<const uint8_t> head) {
  const Format* const format = find_format(head);
  return format != nullptr ? format->probe_head(head) : std::nullopt;
}

uint64_t decode_working_bytes(const ImageInfo& info, const Rect& stored_crop, ColorMode mode) {
  const DecoderMode decoder = decoder_mode(info, mode);
  const uint64_t decoding = row_of(info.format).working_bytes(info, stored_crop, decoder.mode);
  if (decoder.adapt == nullptr) return decoding;
  return decoding + static_cast<uint64_t>(stored_crop.width * pixel_bytes(mode) + kRowSlackBytes);
}

Status decode_rows(std::span<const uint8_t> bytes, const ImageInfo& info, const Rect& stored_crop, ColorMode mode,
                   RowSink& sink) {
  if (!inside(stored_crop, info)) {
    return invalid_argument(fmt::format("crop {}×{} at ({}, {}) is not inside the stored picture of {}×{}",
                                        stored_crop.width, stored_crop.height, stored_crop.x, stored_crop.y,
                                        info.stored_width, info.stored_height));
  }
  const Format& format = row_of(info.format);
  // `info` may be of other bytes (a file that changed since it was probed); each format checks the
  // rest.
  if (sniff(bytes).kind != format.kind) return corrupt(fmt::format("not a {} image any more", format.name));
  try {
    const DecoderMode decoder = decoder_mode(info, mode);
    if (decoder.adapt == nullptr) return format.decode(bytes, info, stored_crop, mode, sink);
    const auto adapted = decoder.adapt(sink, stored_crop, mode);
    return format.decode(bytes, info, stored_crop, decoder.mode, *adapted);
  } catch (const std::bad_alloc&) {
    const uint64_t needed = decode_working_bytes(info, stored_crop, mode);
    return out_of_budget(fmt::format("no memory for decoding a {}: up to {} bytes are needed", format.name, needed),
                         needed);
  }
}

}  // namespace forebay
