#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <webp/decode.h>

#include "codec/exif.h"
#include "codec/pixels.h"

#include "codec/formats.h"

namespace forebay {
namespace {

uint32_t little_u24(Bytes bytes, size_t at) {
  return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16;
}
uint32_t little_u32(Bytes bytes, size_t at) { return little_u24(bytes, at) | uint32_t{bytes[at + 3]} << 24; }

struct RiffChunk {
  std::string_view type;
  Bytes payload;
  Bytes whole;  ///< includes its header
};

/// Removes the next chunk from `rest`.
Result<RiffChunk> take_chunk(Bytes& rest) {
  constexpr size_t kHeader = 8;
  if (rest.size() < kHeader) return corrupt("WebP ends early");
  const size_t length = little_u32(rest, 4);
  if (length > rest.size() - kHeader) return corrupt("WebP ends early, inside a chunk");
  const RiffChunk chunk{
      {reinterpret_cast<const char*>(rest.data()), 4}, rest.subspan(kHeader, length), rest.first(kHeader + length)};
  // RIFF chunks are padded to an even length, but the padding of the last one may be missing.
  rest = rest.subspan(std::min(rest.size(), kHeader + length + length % 2));
  return chunk;
}

/// The place of the pixels: one still image, or the first frame of an animation inside its canvas.
struct Picture {
  Bytes data;  ///< payload of a VP8 or VP8L chunk
  /// From an ALPH chunk to the end of the VP8 chunk after it, which the library needs together.
  Bytes with_alpha;
  bool has_alpha = false;
  bool lossless = false;
  int64_t canvas_width = 0, canvas_height = 0;
  Rect frame;
  int orientation = 1;
};

bool take_pixels(const RiffChunk& chunk, Picture& picture) {
  if (picture.data.empty() && chunk.type == "ALPH") picture.with_alpha = chunk.whole;
  if (!picture.data.empty() || (chunk.type != "VP8 " && chunk.type != "VP8L")) return false;
  picture.data = chunk.payload;
  picture.lossless = chunk.type == "VP8L";
  if (picture.lossless) picture.with_alpha = {};
  if (!picture.with_alpha.empty()) {
    const uint8_t* const end = chunk.whole.data() + chunk.whole.size();
    picture.with_alpha = {picture.with_alpha.data(), static_cast<size_t>(end - picture.with_alpha.data())};
  }
  return true;
}

Status take_first_frame(Bytes payload, Picture& picture) {
  constexpr size_t kHeader = 16;
  if (payload.size() < kHeader) return corrupt("WebP animation frame is too short");
  // Offsets are in units of two pixels, and sizes are reduced by 1 (WebP container, ANMF).
  picture.frame = {int64_t{little_u24(payload, 0)} * 2, int64_t{little_u24(payload, 3)} * 2,
                   int64_t{little_u24(payload, 6)} + 1, int64_t{little_u24(payload, 9)} + 1};
  for (Bytes rest = payload.subspan(kHeader); !rest.empty();) {
    FOREBAY_ASSIGN(const RiffChunk chunk, take_chunk(rest));
    if (take_pixels(chunk, picture)) return {};
  }
  return corrupt("WebP animation frame without a picture");
}

Status read_chunks(Bytes rest, Picture& picture) {
  OrientationFinder finder;
  while (rest.size() >= 8) {
    FOREBAY_ASSIGN(const RiffChunk chunk, take_chunk(rest));
    if (chunk.type == "VP8X" && chunk.payload.size() >= 10) {
      picture.canvas_width = int64_t{little_u24(chunk.payload, 4)} + 1;
      picture.canvas_height = int64_t{little_u24(chunk.payload, 7)} + 1;
    } else if (chunk.type == "ANMF" && picture.data.empty()) {
      FOREBAY_RETURN_IF_ERROR(take_first_frame(chunk.payload, picture));
    } else if (chunk.type == "EXIF") {
      const bool prefixed = chunk.payload.size() > 6 && std::memcmp(chunk.payload.data(), "Exif\0\0", 6) == 0;
      finder.add_exif(prefixed ? chunk.payload.subspan(6) : chunk.payload);
    } else if (chunk.type == "XMP ") {
      finder.add_xmp(chunk.payload);
    } else {
      take_pixels(chunk, picture);
    }
  }
  picture.orientation = finder.orientation();
  return {};
}

/// Finds the image and checks that the sizes agree.
Result<Picture> find_picture(Bytes bytes) {
  if (bytes.size() < 12) return corrupt("WebP ends early");
  const size_t size = little_u32(bytes, 4);
  if (size < 4 || size > bytes.size() - 8) return corrupt("WebP ends early");
  Picture picture;
  FOREBAY_RETURN_IF_ERROR(read_chunks(bytes.subspan(12, size - 4), picture));
  if (picture.data.empty()) return corrupt("WebP without a picture");
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(picture.data.data(), picture.data.size(), &features) != VP8_STATUS_OK) {
    return corrupt("WebP picture header is damaged");
  }
  // Features of the whole file, because its header may say that alpha is not used.
  WebPBitstreamFeatures whole;
  picture.has_alpha = WebPGetFeatures(bytes.data(), bytes.size(), &whole) == VP8_STATUS_OK && whole.has_alpha;
  if (picture.frame.width == 0) picture.frame = {0, 0, features.width, features.height};
  if (picture.canvas_width == 0) {
    picture.canvas_width = features.width;
    picture.canvas_height = features.height;
  }
  const Rect& frame = picture.frame;
  if (frame.width != features.width || frame.height != features.height ||
      frame.x + frame.width > picture.canvas_width || frame.y + frame.height > picture.canvas_height) {
    return corrupt("WebP sizes disagree");
  }
  return picture;
}

/// Upper bound of the library's memory for a whole lossless image: its pixels and its prefix code
/// tables. Each part of the image may have a set of tables of its own.
uint64_t lossless_bytes(uint64_t pixels, uint64_t data_bytes) {
  constexpr uint64_t kSetBytes = 21 * 1024, kMaxSets = 2600, kBitsPerSet = 20;
  const uint64_t sets = std::min({kMaxSets, pixels / 16 + 1, data_bytes * 8 / kBitsPerSet + 1});
  return pixels * 4 + pixels / 2 + sets * kSetBytes;
}

/// The part of `crop` that the frame covers, in the frame's coordinates; its width is 0 if there is
/// none.
Rect in_frame(const Rect& crop, const Rect& frame) {
  const int64_t x0 = std::max(crop.x, frame.x), x1 = std::min(crop.x + crop.width, frame.x + frame.width);
  const int64_t y0 = std::max(crop.y, frame.y), y1 = std::min(crop.y + crop.height, frame.y + frame.height);
  if (x1 <= x0 || y1 <= y0) return {};
  return {x0 - frame.x, y0 - frame.y, x1 - x0, y1 - y0};
}

/// Extends the part by the neighbours that smooth chroma upsampling reads, and begins it at an even
/// pixel.
Rect with_margin(const Rect& part, const Rect& frame) {
  constexpr int64_t kMargin = 2;
  const int64_t x0 = std::max<int64_t>(part.x - kMargin, 0) & ~int64_t{1};
  const int64_t y0 = std::max<int64_t>(part.y - kMargin, 0) & ~int64_t{1};
  const int64_t x1 = std::min(part.x + part.width + kMargin, frame.width);
  const int64_t y1 = std::min(part.y + part.height + kMargin, frame.height);
  return {x0, y0, x1 - x0, y1 - y0};
}

/// Bytes per pixel in the library's output.
int depth_of(ColorMode mode) { return has_alpha(mode) ? 4 : 3; }

Status decode_part(Bytes data, const Rect& part, int depth, uint8_t* pixels, size_t size) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return internal_error("libwebp is of another version than its header");
  config.options.use_cropping = 1;
  config.options.crop_left = static_cast<int>(part.x);
  config.options.crop_top = static_cast<int>(part.y);
  config.options.crop_width = static_cast<int>(part.width);
  config.options.crop_height = static_cast<int>(part.height);
  config.output.colorspace = depth == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels;
  config.output.u.RGBA.stride = static_cast<int>(part.width * depth);
  config.output.u.RGBA.size = size;
  switch (WebPDecode(data.data(), data.size(), &config)) {
    case VP8_STATUS_OK: return {};
    case VP8_STATUS_OUT_OF_MEMORY: return out_of_budget("no memory for decoding a WebP", size);
    case VP8_STATUS_UNSUPPORTED_FEATURE: return unsupported("WebP of an unknown kind");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return corrupt("WebP ends early");
    default: return corrupt("WebP data is damaged");
  }
}

/// Converts a row of the library's output to the mode.
void finish_row(ColorMode mode, bool has_alpha, int64_t width, uint8_t* row) {
  if (mode == ColorMode::kGray) return rgb_to_gray(row, width, row);
  if (mode != ColorMode::kRgba && mode != ColorMode::kAlpha) return;
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t alpha = has_alpha ? row[4 * x + 3] : uint8_t{255};
    row[mode == ColorMode::kRgba ? 4 * x + 3 : x] = alpha;
  }
}

}  // namespace

Result<ImageInfo> probe_webp(Bytes bytes) {
  FOREBAY_ASSIGN(const Picture picture, find_picture(bytes));
  ImageInfo info;
  info.format = ImageFormat::kWebp;
  info.stored_width = picture.canvas_width;
  info.stored_height = picture.canvas_height;
  info.orientation = picture.orientation;
  if (picture.lossless)
    info.frame_bytes =
        lossless_bytes(static_cast<uint64_t>(picture.frame.width * picture.frame.height), picture.data.size());
  return info;
}

// Only a file of a single chunk, its pixels, certainly has no orientation.
std::optional<ImageHead> probe_webp_head(Bytes head) {
  constexpr size_t kRiffHeader = 12, kChunkHeader = 8;
  WebPBitstreamFeatures features;
  if (head.size() < kRiffHeader + kChunkHeader || WebPGetFeatures(head.data(), head.size(), &features) != VP8_STATUS_OK)
    return std::nullopt;
  ImageHead found{features.width, features.height, std::nullopt};
  const uint64_t chunk_bytes = little_u32(head, kRiffHeader + 4);
  const uint64_t file_bytes = uint64_t{little_u32(head, 4)} + kChunkHeader;
  if (kRiffHeader + kChunkHeader + chunk_bytes + chunk_bytes % 2 >= file_bytes) found.orientation = 1;
  return found;
}

Status decode_webp(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink) {
  FOREBAY_ASSIGN(const Picture picture, find_picture(bytes));
  if (picture.canvas_width != info.stored_width || picture.canvas_height != info.stored_height ||
      picture.lossless != (info.frame_bytes != 0)) {
    return corrupt("WebP whose header is not the one that was read before");
  }
  if (mode == ColorMode::kPalette) return no_palette("a WebP");
  const Rect part = in_frame(crop, picture.frame);
  const Rect decoded = part.width == 0 ? Rect{} : with_margin(part, picture.frame);
  const int depth = depth_of(mode);
  const size_t size = static_cast<size_t>(decoded.width * decoded.height * depth);
  std::vector<uint8_t> pixels(size + kRowSlackBytes);
  const Bytes data = forebay::has_alpha(mode) && !picture.with_alpha.empty() ? picture.with_alpha : picture.data;
  if (size > 0) FOREBAY_RETURN_IF_ERROR(decode_part(data, decoded, depth, pixels.data(), size));

  std::vector<uint8_t> row(static_cast<size_t>(crop.width * depth + kRowSlackBytes));
  for (int64_t y = crop.y - picture.frame.y; y < crop.y - picture.frame.y + crop.height; ++y) {
    // Pixels outside of an animation's frame are black, and transparent if there is alpha.
    std::fill(row.begin(), row.end(), uint8_t{0});
    if (y >= part.y && y < part.y + part.height) {
      const uint8_t* from =
          &pixels[static_cast<size_t>(((y - decoded.y) * decoded.width + part.x - decoded.x) * depth)];
      std::memcpy(&row[static_cast<size_t>((part.x + picture.frame.x - crop.x) * depth)], from,
                  static_cast<size_t>(part.width * depth));
    }
    finish_row(mode, picture.has_alpha, crop.width, row.data());
    sink.row(row.data());
  }
  return {};
}

uint64_t webp_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode) {
  constexpr uint64_t kFixedBytes = 256 * 1024, kBytesPerColumn = 160, kMargin = 8;
  const uint64_t pixels = (static_cast<uint64_t>(crop.width) + kMargin) *
                          (static_cast<uint64_t>(crop.height) + kMargin) * static_cast<uint64_t>(depth_of(mode));
  const uint64_t fixed = kFixedBytes + kBytesPerColumn * static_cast<uint64_t>(info.stored_width);
  // The alpha of a lossy image is a lossless image of its own, plus its decoded plane.
  const uint64_t all = static_cast<uint64_t>(info.pixels());
  const uint64_t alpha = has_alpha(mode) && info.frame_bytes == 0 ? lossless_bytes(all, UINT64_MAX / 16) + 2 * all : 0;
  return fixed + pixels + info.frame_bytes + alpha;
}

}  // namespace forebay
