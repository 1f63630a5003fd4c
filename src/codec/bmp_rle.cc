#include "codec/bmp_rle.h"

#include <algorithm>
#include <cstring>

namespace forebay {
namespace {

/// Takes indices in the order of the file and keeps those of the crop.
class Canvas {
 public:
  Canvas(const BmpHeader& header, const Rect& crop, uint8_t* to) : header_(header), crop_(crop), to_(to) {}

  bool full() const { return y_ >= header_.height; }
  int64_t left() const { return (header_.height - y_) * header_.width - x_; }
  int64_t column() const { return x_; }

  void put(uint8_t index) {
    const int64_t y = header_.top_down ? y_ : header_.height - 1 - y_;
    const int64_t row = y - crop_.y, column = x_ - crop_.x;
    if (row >= 0 && row < crop_.height && column >= 0 && column < crop_.width) to_[row * crop_.width + column] = index;
    skip(1);
  }
  void skip(int64_t pixels) {
    x_ += pixels;
    y_ += x_ / header_.width;
    x_ %= header_.width;
  }
  void end_line() {
    if (x_ > 0) skip(header_.width - x_);
  }

 private:
  const BmpHeader& header_;
  Rect crop_;
  uint8_t* to_;
  int64_t x_ = 0, y_ = 0;
};

/// Reads the codes the way Pillow does: runs are cut at the end of their line, literal pixels go on in the next one.
class Unpacker {
 public:
  Unpacker(Bytes file, const BmpHeader& header, const Rect& crop, uint8_t* to)
      : file_(file), at_(header.data_offset), width_(header.width), four_bits_(header.coding == BmpCoding::kRle4),
        canvas_(header, crop, to) {}

  Status run() {
    while (!canvas_.full()) {
      if (!has(2)) return ends_early();
      const uint8_t count = file_[at_], value = file_[at_ + 1];
      at_ += 2;
      if (count > 0) {
        repeat(count, value);
      } else if (value == kEndOfPicture) {
        return ends_early();
      } else {
        FOREBAY_RETURN_IF_ERROR(escape(value));
      }
    }
    return {};
  }

 private:
  static constexpr uint8_t kEndOfLine = 0, kEndOfPicture = 1, kMove = 2;

  static Status ends_early() { return corrupt("BMP runs end before the picture is full"); }
  bool has(uint64_t count) const { return at_ <= file_.size() && count <= file_.size() - at_; }
  uint8_t index(uint8_t byte, int64_t i) const { return !four_bits_ ? byte : i % 2 == 0 ? byte >> 4 : byte & 15; }

  void repeat(int64_t count, uint8_t value) {
    // Never beyond the picture, whatever a run claims; put() itself checks the crop alone.
    count = std::min({count, std::max<int64_t>(width_ - line_x_, 0), canvas_.left()});
    for (int64_t i = 0; i < count; ++i) canvas_.put(index(value, i));
    line_x_ += count;
  }

  Status escape(uint8_t code) {
    if (code == kEndOfLine) {
      canvas_.end_line();
      line_x_ = 0;
      return {};
    }
    if (code == kMove) {
      if (!has(2)) return ends_early();
      canvas_.skip(std::min(canvas_.left(), file_[at_] + file_[at_ + 1] * width_));
      line_x_ = canvas_.column();
      at_ += 2;
      return {};
    }
    return literal(code);
  }

  Status literal(int64_t count) {
    const int64_t pixels = std::min(count, canvas_.left());
    const int64_t bytes = four_bits_ ? (pixels + 1) / 2 : pixels;
    if (!has(static_cast<uint64_t>(bytes))) return ends_early();
    for (int64_t i = 0; i < pixels; ++i)
      canvas_.put(index(file_[at_ + static_cast<size_t>(four_bits_ ? i / 2 : i)], i));
    at_ += static_cast<uint64_t>(bytes);
    // Literals end on an even place of the file, as Pillow counts; the format means an even number of bytes.
    at_ += at_ % 2;
    line_x_ += count;
    return {};
  }

  Bytes file_;
  uint64_t at_;
  int64_t width_;
  bool four_bits_;
  Canvas canvas_;
  int64_t line_x_ = 0;  ///< where this line's runs have come to; literal pixels may take it over the edge
};

}  // namespace

Status unpack_bmp_runs(Bytes file, const BmpHeader& header, const Rect& crop, uint8_t* to) {
  std::memset(to, 0, static_cast<size_t>(crop.width * crop.height));
  return Unpacker(file, header, crop, to).run();
}

}  // namespace forebay
