#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spng.h>

#include "codec/exif.h"
#include "codec/pixels.h"
#include "codec/png_chunks.h"
#include "codec/png_pixels.h"
#include "codec/png_text.h"

namespace forebay {
namespace {

/// The part of the file that the library reads: the signature and the chunks that affect pixels.
/// Other chunks, such as text and profiles, are left out, because the library would decompress them
/// into memory. Adjacent chunks are one entry, so that the list stays short however many chunks the
/// data is in.
class PixelChunks {
 public:
  explicit PixelChunks(Bytes signature) : rest_(signature) {}
  void add(Bytes chunk) {
    if (!chunks_.empty() && chunks_.back().data() + chunks_.back().size() == chunk.data())
      chunks_.back() = {chunks_.back().data(), chunks_.back().size() + chunk.size()};
    else
      chunks_.push_back(chunk);
  }

  static int read(spng_ctx*, void* self, void* to, size_t size) {
    return static_cast<PixelChunks*>(self)->read(static_cast<uint8_t*>(to), size);
  }

 private:
  int read(uint8_t* to, size_t size) {
    while (size > 0) {
      if (rest_.empty()) {
        if (next_ == chunks_.size()) return SPNG_IO_EOF;
        rest_ = chunks_[next_++];
      }
      const size_t part = std::min(size, rest_.size());
      std::memcpy(to, rest_.data(), part);
      rest_ = rest_.subspan(part);
      to += part;
      size -= part;
    }
    return 0;
  }

  Bytes rest_;
  std::vector<Bytes> chunks_;
  size_t next_ = 0;
};

Status read_palette(const PngChunk& chunk, PngPalette& palette) {
  if (chunk.payload.size() % 3 != 0 || chunk.payload.size() > palette.rgb.size()) {
    return corrupt("PNG palette has a wrong length");
  }
  std::copy(chunk.payload.begin(), chunk.payload.end(), palette.rgb.begin());
  return {};
}

// Values that do not fit the colour type are ignored, as in libpng.
void read_transparency(const PngChunk& chunk, const PngHeader& header, PngPalette& palette) {
  const Bytes data = chunk.payload;
  if (header.color == PngColor::kPalette) {
    std::copy_n(data.begin(), std::min(data.size(), palette.alpha.size()), palette.alpha.begin());
    return;
  }
  const size_t samples = header.color == PngColor::kRgb ? 3 : header.color == PngColor::kGray ? 1 : 0;
  if (samples == 0 || data.size() < 2 * samples) return;
  std::array<uint16_t, 3> clear{};
  for (size_t i = 0; i < samples; ++i) clear[i] = static_cast<uint16_t>(data[2 * i] << 8 | data[2 * i + 1]);
  palette.clear = clear;
}

/// Checks the file's chunks and selects those that affect pixels.
Status collect(Bytes bytes, const PngHeader& header, PixelChunks& pixel_chunks, PngPalette& palette) {
  PngChunks chunks(bytes);
  bool has_header = false, in_data = false, after_data = false, has_palette = false;
  for (;;) {
    FOREBAY_ASSIGN(const PngChunk chunk, chunks.next());
    const bool data = chunk.type == "IDAT";
    after_data = after_data || (in_data && !data);
    in_data = in_data || data;
    if (data && !after_data) {
      pixel_chunks.add(chunk.whole);  // the library checks its CRC
      continue;
    }
    if (!chunk.crc_matches()) return corrupt(fmt::format("PNG chunk '{}' has a wrong CRC", chunk.type));
    if (chunk.type == "PLTE") {
      // For colour images it is only a suggestion. A second one, or one after the data, has no
      // meaning.
      if (header.color != PngColor::kPalette || has_palette || in_data) continue;
      FOREBAY_RETURN_IF_ERROR(read_palette(chunk, palette));
      has_palette = true;
      pixel_chunks.add(chunk.whole);
    } else if (chunk.type == "tRNS" && !in_data) {
      read_transparency(chunk, header, palette);
    } else if (chunk.type == "IHDR") {
      if (has_header) return corrupt("PNG with more than one header");
      has_header = true;
      pixel_chunks.add(chunk.whole);
    } else if (chunk.type == "IEND") {
      pixel_chunks.add(chunk.whole);
      break;
    } else if (chunk.critical() && !data) {
      return unsupported(fmt::format("PNG with the critical chunk '{}'", chunk.type));
    }
  }
  if (!in_data) return corrupt("PNG holds no picture");
  if (header.color == PngColor::kPalette && !has_palette) return corrupt("PNG without its palette");
  return {};
}

/// One pass of Adam7 interlacing: its first pixel, and the steps to the next ones.
struct Adam7 {
  int64_t x, y, step_x, step_y;
};
constexpr Adam7 kPasses[7] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                              {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

/// Reads rows from the library, converts those of the crop and passes them on.
class Reader {
 public:
  Reader(const PngHeader& header, const PngPalette& palette, const Rect& crop, ColorMode mode)
      : header_(header), crop_(crop), mode_(mode), pixels_(header, palette, mode) {}

  Status run(PixelChunks& chunks, RowSink& sink) {
    const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> library(spng_ctx_new(0), spng_ctx_free);
    if (!library) return out_of_budget("no memory for a PNG decoder", 1 << 16);
    int error = spng_set_crc_action(library.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR);
    if (error == 0) error = spng_set_png_stream(library.get(), PixelChunks::read, &chunks);
    if (error == 0) error = spng_decode_image(library.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
    if (error != 0) return status_of(error);
    return header_.interlaced ? read_interlaced(library.get(), sink) : read_rows(library.get(), sink);
  }

 private:
  static Status status_of(int error) {
    if (error == SPNG_EMEM) return out_of_budget("no memory for decoding a PNG", 1 << 20);
    return corrupt(fmt::format("PNG: {}", spng_strerror(error)));
  }
  int64_t pixel_bytes() const { return forebay::pixel_bytes(mode_); }

  enum class RowsLeft : uint8_t { kSome, kNone };

  /// Decodes the next row. Tells whether the image has more rows.
  static Result<RowsLeft> read_row(spng_ctx* library, uint8_t* row, int64_t size) {
    const int error = spng_decode_scanline(library, row, static_cast<size_t>(size));
    if (error == 0) return RowsLeft::kSome;
    if (error != SPNG_EOI) return status_of(error);
    // Checks the CRC of the chunk that contained the last row.
    if (const int chunk_error = spng_decode_chunks(library); chunk_error != 0) return status_of(chunk_error);
    return RowsLeft::kNone;
  }

  Status read_rows(spng_ctx* library, RowSink& sink) {
    const int64_t size = header_.row_bytes(header_.width);
    std::vector<uint8_t> row(static_cast<size_t>(size + kRowSlackBytes));
    std::vector<uint8_t> converted(static_cast<size_t>(crop_.width * pixel_bytes() + kRowSlackBytes));
    RowsLeft rows_left = RowsLeft::kSome;
    for (int64_t y = 0; y < crop_.y + crop_.height; ++y) {
      if (rows_left == RowsLeft::kNone) return corrupt("PNG has too few rows");
      FOREBAY_ASSIGN(rows_left, read_row(library, row.data(), size));
      if (y < crop_.y) continue;
      if (const uint8_t* ready = pixels_.in_place(row.data(), crop_.x)) {
        sink.row(ready);
      } else {
        pixels_.convert(row.data(), crop_.x, crop_.width, converted.data());
        sink.row(converted.data());
      }
    }
    return {};
  }

  Status read_interlaced(spng_ctx* library, RowSink& sink) {
    const int64_t size = header_.row_bytes(header_.width), line = crop_.width * pixel_bytes();
    std::vector<uint8_t> row(static_cast<size_t>(size));
    std::vector<uint8_t> converted(static_cast<size_t>(line));
    // Holds only the crop. Passes come one after the other, so its rows are complete only after the
    // last one.
    std::vector<uint8_t> frame(static_cast<size_t>(line * crop_.height + kRowSlackBytes));
    for (RowsLeft rows_left = RowsLeft::kSome; rows_left != RowsLeft::kNone;) {
      spng_row_info info = {};
      if (const int error = spng_get_row_info(library, &info); error != 0) return status_of(error);
      FOREBAY_ASSIGN(rows_left, read_row(library, row.data(), size));
      const int64_t y = static_cast<int64_t>(info.row_num) - crop_.y;
      if (y >= 0 && y < crop_.height)
        scatter(row.data(), kPasses[info.pass], converted.data(), &frame[static_cast<size_t>(y * line)]);
    }
    for (int64_t y = 0; y < crop_.height; ++y) sink.row(&frame[static_cast<size_t>(y * line)]);
    return {};
  }

  /// Writes the pixels of one row of a pass to their places in a row of the crop.
  void scatter(const uint8_t* row, const Adam7& pass, uint8_t* converted, uint8_t* to) const {
    const auto index_at = [&](int64_t x) { return std::max<int64_t>(0, (x - pass.x + pass.step_x - 1) / pass.step_x); };
    const int64_t first = index_at(crop_.x), end = index_at(crop_.x + crop_.width);
    if (end <= first) return;
    pixels_.convert(row, first, end - first, converted);
    for (int64_t i = first; i < end; ++i, converted += pixel_bytes()) {
      const int64_t x = pass.x + i * pass.step_x - crop_.x;
      std::memcpy(to + x * pixel_bytes(), converted, static_cast<size_t>(pixel_bytes()));
    }
  }

  PngHeader header_;
  Rect crop_;
  ColorMode mode_;
  PngPixels pixels_;
};

/// The XMP packet in an uncompressed iTXt chunk.
Bytes xmp_packet(Bytes text) {
  using namespace std::string_view_literals;
  // The keyword, the flag for uncompressed text, and the method.
  constexpr std::string_view kBegin = "XML:com.adobe.xmp\0\0\0"sv;
  if (text.size() < kBegin.size() || std::memcmp(text.data(), kBegin.data(), kBegin.size()) != 0) return {};
  return text.subspan(kBegin.size());
}

/// Deflate compresses at most 258 bytes to two bits, so a file that is shorter is incomplete.
Status check_data_size(const PngHeader& header, uint64_t data_bytes) {
  constexpr uint64_t kMaxRatio = 1032;
  const uint64_t needed = static_cast<uint64_t>(header.row_bytes(header.width)) * static_cast<uint64_t>(header.height);
  if (needed / kMaxRatio <= data_bytes) return {};
  return corrupt(fmt::format("PNG of {} × {} pixels in {} bytes: the data cannot be there", header.width, header.height,
                             data_bytes));
}

/// Finds the orientation in the chunks of a file, as Pillow does: an eXIf chunk takes precedence
/// over text.
class PngOrientation {
 public:
  void add(const PngChunk& chunk) {
    if (chunk.type == "eXIf") {
      finder_.add_exif(chunk.payload);
      has_exif_ = true;
    } else if (auto found = exif_in_text(chunk)) {
      as_text_ = std::move(found);
    }
    if (chunk.type == "iTXt") finder_.add_xmp(xmp_packet(chunk.payload));
  }
  int orientation() {
    if (!has_exif_ && as_text_) finder_.add_exif(*as_text_);
    return finder_.orientation();
  }

 private:
  OrientationFinder finder_;
  bool has_exif_ = false;
  std::optional<std::vector<uint8_t>> as_text_;
};

}  // namespace

Result<ImageInfo> probe_png(Bytes bytes) {
  FOREBAY_ASSIGN(const PngHeader header, read_png_header(bytes));
  PngChunks chunks(bytes);
  PngOrientation found;
  uint64_t data_bytes = 0;
  for (;;) {
    FOREBAY_ASSIGN(const PngChunk chunk, chunks.next());
    if (chunk.type == "IDAT") data_bytes += chunk.payload.size();
    found.add(chunk);
    if (chunk.type == "IEND") break;
  }
  FOREBAY_RETURN_IF_ERROR(check_data_size(header, data_bytes));
  ImageInfo info;
  info.format = ImageFormat::kPng;
  info.stored_width = header.width;
  info.stored_height = header.height;
  info.orientation = found.orientation();
  info.components = header.components();
  info.bits = header.bits;
  info.progressive = header.interlaced;
  return info;
}

// An eXIf chunk or text may also follow the pixels.
std::optional<ImageHead> probe_png_head(Bytes head) {
  const Result<PngHeader> header = read_png_header(head);
  if (!header.ok()) return std::nullopt;
  return ImageHead{header->width, header->height, std::nullopt};
}

Status decode_png(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink) {
  FOREBAY_ASSIGN(const PngHeader header, read_png_header(bytes));
  if (header.width != info.stored_width || header.height != info.stored_height || header.bits != info.bits ||
      header.components() != info.components || header.interlaced != info.progressive) {
    return corrupt("PNG whose header is not the one that was read before");
  }
  if (mode == ColorMode::kPalette && header.color != PngColor::kPalette)
    return no_palette(header.components() >= 3 ? "a PNG of colours" : "a grey PNG");
  PixelChunks chunks(bytes.first(PngChunks::kSignatureBytes));
  PngPalette palette;
  FOREBAY_RETURN_IF_ERROR(collect(bytes, header, chunks, palette));
  return Reader(header, palette, crop, mode).run(chunks, sink);
}

uint64_t png_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode) {
  // Inflate's window and tables, the stream buffer, the context.
  constexpr uint64_t kFixedBytes = 160 * 1024;
  // The library holds two rows, or three for an interlaced image; this reader holds one more.
  const uint64_t row =
      (static_cast<uint64_t>(info.stored_width) * static_cast<uint64_t>(info.components * info.bits) + 7) / 8;
  const uint64_t line = static_cast<uint64_t>(crop.width) * static_cast<uint64_t>(pixel_bytes(mode));
  return kFixedBytes + 4 * (row + 64) + line + (info.progressive ? line * static_cast<uint64_t>(crop.height) : 0);
}

}  // namespace forebay
