#include "ops/image/pixel_source.h"

#include <cstring>
#include <span>

#include "codec/orientation.h"

namespace forebay {
namespace {

// Sinks may read this many bytes past the end of a row.
constexpr uint64_t kReadPast = 64;

uint64_t row_bytes(const Rect& part, int64_t channels) { return static_cast<uint64_t>(part.width * channels); }
uint64_t part_bytes(const Rect& part, int64_t channels) {
  return static_cast<uint64_t>(part.width * part.height * channels);
}

uint64_t bytes_of(const EncodedPixels& from, const Rect& part) {
  const uint64_t decoding = decode_working_bytes(from.info, upright_to_stored(from.info, part), from.mode);
  // Rotated pictures are held twice: as stored, and upright.
  return from.info.orientation == 1 ? decoding : decoding + 2 * (part_bytes(part, channels(from.mode)) + kReadPast);
}

uint64_t bytes_of(const TensorPixels& from, const Rect& part) { return row_bytes(part, from.channels()) + kReadPast; }

Status read_rotated(const EncodedPixels& from, const Rect& part, RowSink& sink, WorkMemory& memory, int slot) {
  const int64_t depth = channels(from.mode);
  const Rect stored = upright_to_stored(from.info, part);
  const std::span<uint8_t> as_stored = memory.scratch(slot, part_bytes(part, depth));
  const std::span<uint8_t> upright = memory.scratch(slot + 1, part_bytes(part, depth));
  RowsInto collect(as_stored.data(), row_bytes(stored, depth));
  FOREBAY_RETURN_IF_ERROR(decode_rows(from.bytes.span(), from.info, stored, from.mode, collect));
  orient_pixels(as_stored.data(), stored.width, stored.height, static_cast<int>(depth), from.info.orientation,
                upright.data());
  for (int64_t y = 0; y < part.height; ++y)
    sink.row(upright.data() + static_cast<uint64_t>(y) * row_bytes(part, depth));
  return {};
}

// Decoding happens long after decode_image read the header; its errors still name that operator.
Status read_from(const EncodedPixels& from, const Rect& part, RowSink& sink, WorkMemory& memory, int slot) {
  Status status = from.info.orientation == 1 ? decode_rows(from.bytes.span(), from.info, part, from.mode, sink)
                                             : read_rotated(from, part, sink, memory, slot);
  return std::move(status).with_operator("decode_image");
}

Status read_from(const TensorPixels& from, const Rect& part, RowSink& sink, WorkMemory& memory, int slot) {
  const int64_t depth = from.channels();
  const std::span<uint8_t> row = memory.scratch(slot, row_bytes(part, depth));
  // The end of the memory, not of the part: reading past the end of a row within it is safe.
  const uint8_t* const end = from.tensor.buffer.data() + from.tensor.buffer.size();
  for (int64_t y = part.y; y < part.y + part.height; ++y) {
    const uint8_t* pixels = from.tensor.buffer.data() + y * from.step_y() + part.x * from.step_x();
    const bool packed = from.step_channel() == 1;
    // The last rows are copied, because a tensor may end where its memory ends.
    if (packed && static_cast<uint64_t>(end - pixels) >= row.size() + kReadPast) {
      sink.row(pixels);
      continue;
    }
    if (packed) std::memcpy(row.data(), pixels, row.size());
    for (int64_t i = 0; !packed && i < part.width * depth; ++i) {
      row[i] = pixels[i / depth + i % depth * from.step_channel()];
    }
    sink.row(row.data());
  }
  return {};
}

uint64_t bytes_of(const UnreadPixels&, const Rect&) { return 0; }

Status read_from(const UnreadPixels&, const Rect&, RowSink&, WorkMemory&, int) { return no_pixels(); }

int64_t width_of(const EncodedPixels& from) { return from.info.width(); }
int64_t width_of(const TensorPixels& from) { return from.width(); }
int64_t width_of(const UnreadPixels& from) { return from.width; }

int64_t height_of(const EncodedPixels& from) { return from.info.height(); }
int64_t height_of(const TensorPixels& from) { return from.height(); }
int64_t height_of(const UnreadPixels& from) { return from.height; }

int64_t channels_of(const EncodedPixels& from) { return channels(from.mode); }
int64_t channels_of(const TensorPixels& from) { return from.channels(); }
int64_t channels_of(const UnreadPixels& from) { return from.channels; }

DType dtype_of(const EncodedPixels&) { return DType::kUint8; }
DType dtype_of(const TensorPixels& from) { return from.tensor.dtype; }
DType dtype_of(const UnreadPixels& from) { return from.dtype; }

}  // namespace

int64_t PixelSource::width() const {
  return std::visit([](const auto& from) { return width_of(from); }, from_);
}

int64_t PixelSource::height() const {
  return std::visit([](const auto& from) { return height_of(from); }, from_);
}

int64_t PixelSource::channels() const {
  return std::visit([](const auto& from) { return channels_of(from); }, from_);
}

DType PixelSource::dtype() const {
  return std::visit([](const auto& from) { return dtype_of(from); }, from_);
}

uint64_t PixelSource::working_bytes(const Rect& part) const {
  return std::visit([&](const auto& from) { return bytes_of(from, part); }, from_);
}

Status PixelSource::read(const Rect& part, RowSink& sink, WorkMemory& memory, int slot) const {
  return std::visit([&](const auto& from) { return read_from(from, part, sink, memory, slot); }, from_);
}

}  // namespace forebay
