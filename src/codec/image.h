#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

enum class ImageFormat : uint8_t { kJpeg, kPng, kWebp, kBmp };
std::string_view image_format_name(ImageFormat format);

enum class ColorMode : uint8_t {
  kRgb,
  kGray,
  kRgb16,    ///< 16 bits a channel, in the machine's byte order: those of a PNG as they are, 8 bits times 257
  kGray16,   ///< the same with one channel
  kRgba,     ///< alpha last; 255 where a picture has none
  kAlpha,    ///< alpha alone
  kPalette,  ///< the numbers that index the picture's palette. Unsupported where it has none
};
/// What decode_image calls it: "rgb", "gray16", ...
std::string_view color_mode_name(ColorMode mode);
std::optional<ColorMode> color_mode_from_name(std::string_view name);
/// "\"rgb\", \"gray\", ..." for messages.
std::string color_mode_names();
constexpr int channels(ColorMode mode) {
  return mode == ColorMode::kRgba ? 4 : mode == ColorMode::kRgb || mode == ColorMode::kRgb16 ? 3 : 1;
}
/// 16 bits a channel.
constexpr bool is_wide(ColorMode mode) { return mode == ColorMode::kRgb16 || mode == ColorMode::kGray16; }
constexpr bool has_alpha(ColorMode mode) { return mode == ColorMode::kRgba || mode == ColorMode::kAlpha; }
constexpr int pixel_bytes(ColorMode mode) { return channels(mode) * (is_wide(mode) ? 2 : 1); }

struct Rect {
  int64_t x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// What the header of an encoded image says. Reading it takes no memory for pixels.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  /// As stored, before the EXIF orientation is applied.
  int64_t stored_width = 0, stored_height = 0;
  /// EXIF orientation, 1 to 8 (1 where there is none).
  int orientation = 1;
  int components = 3;
  int bits = 8;
  bool lossless = false;     ///< a JPEG made by process 14
  bool progressive = false;  ///< or interlaced: rows do not come from top to bottom
  /// What must be held of the whole picture at once: the coefficients of a JPEG in several scans, the pixels of a lossless
  /// WebP. 0: decoded row by row.
  uint64_t frame_bytes = 0;

  /// As seen upright, after the orientation is applied.
  int64_t width() const { return orientation >= 5 ? stored_height : stored_width; }
  int64_t height() const { return orientation >= 5 ? stored_width : stored_height; }
  int64_t pixels() const { return stored_width * stored_height; }
};

/// True when the first bytes look like one of the formats above (for listings: no more is promised).
bool looks_like_image(std::span<const uint8_t> head);

/// Corrupt where the header is damaged, Unsupported where it is another format (named if known) or an unusual kind.
/// Looks at headers alone, and may be given the beginning of a file; Corrupt then says only that the header is not all there. Any thread.
Result<ImageInfo> probe_image(std::span<const uint8_t> bytes);

/// Upper bound of the bytes taken while decode_rows() runs: frames, coefficients and the libraries' own memory.
uint64_t decode_working_bytes(const ImageInfo& info, const Rect& stored_crop, ColorMode mode);

/// Gets the rows of the crop, top to bottom: `row` is crop.width × pixel_bytes(mode) bytes, valid during the call and readable
/// for 64 bytes more.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(const uint8_t* row) = 0;
};

/// Copies the rows into memory, one behind the other.
class RowsInto final : public RowSink {
 public:
  RowsInto(uint8_t* out, size_t row_bytes) : out_(out), row_bytes_(row_bytes) {}
  void row(const uint8_t* row) override {
    std::memcpy(out_, row, row_bytes_);
    out_ += row_bytes_;
  }

 private:
  uint8_t* out_;
  const size_t row_bytes_;
};

/// Decodes the part `stored_crop` (inside the stored picture, before orientation) and gives its pixels. With 8 bits a channel they are
/// as Pillow's `convert("RGB")`, `convert("L")` or `convert("RGBA")` would have them: alpha dropped by the first two, 16 bits by their upper byte, CMYK as Pillow converts it.
/// The pixels equal those of a full decode. Corrupt where the data is damaged or ends early.
/// Any number of threads at once; nothing is kept between calls but a row's memory by thread. On an error some rows may have been given. Takes no
/// more memory than decode_working_bytes() says, and does not limit pixels: that is for whoever has seen `info`.
Status decode_rows(std::span<const uint8_t> bytes, const ImageInfo& info, const Rect& stored_crop, ColorMode mode,
                   RowSink& sink);

/// The rectangle of the stored picture that becomes `upright` after the orientation is applied.
Rect upright_to_stored(const ImageInfo& info, const Rect& upright);

}  // namespace forebay
