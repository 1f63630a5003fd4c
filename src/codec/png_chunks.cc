#include "codec/png_chunks.h"

#include <fmt/format.h>
#include <libdeflate.h>

namespace forebay {
namespace {

uint32_t big_u32(Bytes bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

bool is_allowed(PngColor color, int bits) {
  switch (color) {
    case PngColor::kGray: return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    case PngColor::kPalette: return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    case PngColor::kRgb:
    case PngColor::kGrayAlpha:
    case PngColor::kRgbAlpha: return bits == 8 || bits == 16;
  }
  return false;
}

}  // namespace

bool PngChunk::crc_matches() const {
  return libdeflate_crc32(0, whole.data() + 4, 4 + payload.size()) == big_u32(whole, 8 + payload.size());
}

Result<PngChunk> PngChunks::next() {
  constexpr size_t kAround = 12;  // length, type, CRC
  const size_t left = bytes_.size() - std::min(position_, bytes_.size());
  if (left < kAround) return corrupt("PNG ends early, no IEND chunk");
  const size_t length = big_u32(bytes_, position_);
  if (length > left - kAround) return corrupt("PNG ends early, inside a chunk");
  const Bytes whole = bytes_.subspan(position_, length + kAround);
  position_ += whole.size();
  return PngChunk{{reinterpret_cast<const char*>(whole.data()) + 4, 4}, whole.subspan(8, length), whole};
}

int PngHeader::components() const {
  switch (color) {
    case PngColor::kRgb: return 3;
    case PngColor::kGrayAlpha: return 2;
    case PngColor::kRgbAlpha: return 4;
    default: return 1;
  }
}

Result<PngHeader> read_png_header(Bytes bytes) {
  FOREBAY_ASSIGN(const PngChunk chunk, PngChunks(bytes).next());
  const Bytes data = chunk.payload;
  if (chunk.type != "IHDR" || data.size() != 13) return corrupt("PNG without a header chunk");
  if (!chunk.crc_matches()) return corrupt("PNG header chunk has a wrong CRC");
  PngHeader header;
  header.width = big_u32(data, 0);
  header.height = big_u32(data, 4);
  header.bits = data[8];
  header.color = static_cast<PngColor>(data[9]);
  header.interlaced = data[12] == 1;
  if (!is_allowed(header.color, header.bits) || data[10] != 0 || data[11] != 0 || data[12] > 1) {
    return corrupt(fmt::format("PNG header: color type {}, {} bits, compression {}, filter {}, interlace {}", data[9],
                               data[8], data[10], data[11], data[12]));
  }
  if (header.width == 0 || header.height == 0) return corrupt("PNG of no pixels");
  return header;
}

}  // namespace forebay
