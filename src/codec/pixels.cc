#include "codec/pixels.h"

#include <string>

namespace forebay {

void rgb_to_gray(const uint8_t* rgb, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x) to[x] = luma(rgb[3 * x], rgb[3 * x + 1], rgb[3 * x + 2]);
}

void gray_to_rgb(const uint8_t* gray, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x) to[3 * x] = to[3 * x + 1] = to[3 * x + 2] = gray[x];
}

void inverted_cmyk_to_rgb(const uint8_t* cmyk, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x) {
    const int paper = cmyk[4 * x + 3];
    for (int c = 0; c < 3; ++c) {
      // Divides by 255 with rounding, exactly as Pillow's MULDIV255 does.
      const int product = (255 - cmyk[4 * x + c]) * paper + 128;
      to[3 * x + c] = static_cast<uint8_t>(paper - (((product >> 8) + product) >> 8));
    }
  }
}

Status no_palette(std::string_view what) {
  return unsupported(std::string(what) +
                     " has no palette, whose indices mode=\"palette\" gives; mode=\"gray\" gives the values of grey "
                     "pictures as they are");
}

uint8_t* RowBuffer::get(int64_t bytes) {
  const size_t size = static_cast<size_t>(bytes + kRowSlackBytes);
  if (memory_.size() < size) memory_.resize(size);
  return memory_.data();
}

}  // namespace forebay
