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

/// The formats of encoded images.
enum class ImageFormat : uint8_t { kJpeg, kPng, kWebp, kBmp };
std::string_view image_format_name(ImageFormat format);

/// The channels and bits of decoded pixels.
enum class ColorMode : uint8_t {
  kRgb,
  kGray,
  /// 16 bits per channel in native byte order: those of a PNG unchanged, 8 bits times 257.
  kRgb16,
  kGray16,   ///< the same with one channel
  kRgba,     ///< alpha last; 255 if the image has none
  kAlpha,    ///< alpha alone
  kPalette,  ///< indices into the image's palette; Unsupported without one
};
/// The name that decode_image uses: "rgb", "gray16", ...
std::string_view color_mode_name(ColorMode mode);
std::optional<ColorMode> color_mode_from_name(std::string_view name);
/// All names, "\"rgb\", \"gray\", ...", for messages.
std::string color_mode_names();
constexpr int channels(ColorMode mode) {
  return mode == ColorMode::kRgba ? 4 : mode == ColorMode::kRgb || mode == ColorMode::kRgb16 ? 3 : 1;
}
/// True for modes with 16 bits per channel.
constexpr bool is_wide(ColorMode mode) { return mode == ColorMode::kRgb16 || mode == ColorMode::kGray16; }
constexpr bool has_alpha(ColorMode mode) { return mode == ColorMode::kRgba || mode == ColorMode::kAlpha; }
constexpr int pixel_bytes(ColorMode mode) { return channels(mode) * (is_wide(mode) ? 2 : 1); }

/// A rectangle of pixels.
struct Rect {
  int64_t x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// The header of an encoded image. Reading it allocates no memory for pixels.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  /// Size as stored, before the EXIF orientation is applied.
  int64_t stored_width = 0, stored_height = 0;
  /// EXIF orientation, 1 to 8; 1 if there is none.
  int orientation = 1;
  int components = 3;
  int bits = 8;
  bool lossless = false;     ///< a JPEG of process 14
  bool progressive = false;  ///< or interlaced: rows are not stored from top to bottom
  /// Memory for data of the whole image that decoding holds at once: the coefficients of a JPEG
  /// with several scans, or the pixels of a lossless WebP. 0 if it is decoded row by row.
  uint64_t frame_bytes = 0;

  /// Size as seen upright, after the orientation is applied.
  int64_t width() const { return orientation >= 5 ? stored_height : stored_width; }
  int64_t height() const { return orientation >= 5 ? stored_width : stored_height; }
  int64_t pixels() const { return stored_width * stored_height; }
};

/// True if the first bytes look like one of the formats above. This is a quick test for listings;
/// decoding may still fail.
bool looks_like_image(std::span<const uint8_t> head);

/// Parses the header of an image. Reads nothing else, so `bytes` may be the beginning of a file.
/// Any thread may call it. Corrupt if the header is damaged or incomplete, Unsupported for another
/// format (named if known) or an unusual kind.
Result<ImageInfo> probe_image(std::span<const uint8_t> bytes);

/// The size of an encoded image, as the beginning of its file tells it.
struct ImageHead {
  /// Size as stored, before the EXIF orientation is applied.
  int64_t stored_width = 0, stored_height = 0;
  /// EXIF orientation, 1 to 8. Empty if it may lie behind the bytes that were given.
  std::optional<int> orientation = {};
};

/// Reads the size from the first bytes of a longer file. Once the whole file is there,
/// probe_image() gives the same. Empty if more bytes are needed, or if the header is damaged.
std::optional<ImageHead> probe_image_head(std::span<const uint8_t> head);

/// Upper bound of the memory that decode_rows() takes: frames, coefficients and the libraries' own
/// memory.
uint64_t decode_working_bytes(const ImageInfo& info, const Rect& stored_crop, ColorMode mode);

/// Receives the rows of the crop, top to bottom. `row` holds crop.width × pixel_bytes(mode) bytes,
/// is valid during the call, and is readable for 64 bytes more.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(const uint8_t* row) = 0;
};

/// Copies the rows to consecutive memory.
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

/// Decodes the part `stored_crop` of an image and passes its rows to the sink. The crop must lie
/// inside the stored image, before orientation. The pixels equal those of a full decode.
///
/// With 8 bits per channel they equal the result of Pillow's `convert("RGB")`, `convert("L")` or
/// `convert("RGBA")`: the first two drop alpha, 16 bits are reduced to their upper byte, and CMYK
/// is converted as in Pillow.
///
/// Any number of threads may decode at once. Nothing is kept between calls except one row of memory
/// per thread. Takes no more memory than decode_working_bytes() states. It does not limit the
/// number of pixels; the caller does, from `info`. Corrupt if the data is damaged or ends early;
/// some rows may have been passed before the error.
Status decode_rows(std::span<const uint8_t> bytes, const ImageInfo& info, const Rect& stored_crop, ColorMode mode,
                   RowSink& sink);

/// The rectangle of the stored image that becomes `upright` when the orientation is applied.
Rect upright_to_stored(const ImageInfo& info, const Rect& upright);

}  // namespace forebay
