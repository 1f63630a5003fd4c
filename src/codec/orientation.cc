#include "codec/orientation.h"

#include <cstring>
#include <utility>

namespace forebay {

OrientationMap orientation_map(int orientation) {
  switch (orientation) {
    case 2: return {.transpose = false, .flip_x = true, .flip_y = false};
    case 3: return {.transpose = false, .flip_x = true, .flip_y = true};
    case 4: return {.transpose = false, .flip_x = false, .flip_y = true};
    // 5 to 8 are transposed: upright x runs along stored y (Exif 2.3, section 4.6.4, tag 0x0112).
    case 5: return {.transpose = true, .flip_x = false, .flip_y = false};
    case 6: return {.transpose = true, .flip_x = false, .flip_y = true};
    case 7: return {.transpose = true, .flip_x = true, .flip_y = true};
    case 8: return {.transpose = true, .flip_x = true, .flip_y = false};
    default: return {};
  }
}

Rect upright_to_stored(int64_t stored_width, int64_t stored_height, int orientation, const Rect& upright_rect) {
  const OrientationMap map = orientation_map(orientation);
  Rect stored = upright_rect;
  if (map.transpose) {
    std::swap(stored.x, stored.y);
    std::swap(stored.width, stored.height);
  }
  if (map.flip_x) stored.x = stored_width - stored.x - stored.width;
  if (map.flip_y) stored.y = stored_height - stored.y - stored.height;
  return stored;
}

Rect upright_to_stored(const ImageInfo& info, const Rect& upright_rect) {
  return upright_to_stored(info.stored_width, info.stored_height, info.orientation, upright_rect);
}

void orient_pixels(const uint8_t* stored, int64_t stored_width, int64_t stored_height, int pixel_bytes, int orientation,
                   uint8_t* upright) {
  const OrientationMap map = orientation_map(orientation);
  const int64_t upright_width = map.transpose ? stored_height : stored_width;
  const int64_t step_x = map.transpose ? upright_width : 1;
  const int64_t step_y = map.transpose ? 1 : upright_width;
  for (int64_t y = 0; y < stored_height; ++y) {
    const uint8_t* from = stored + y * stored_width * pixel_bytes;
    const int64_t to_y = map.flip_y ? stored_height - 1 - y : y;
    for (int64_t x = 0; x < stored_width; ++x, from += pixel_bytes) {
      const int64_t to_x = map.flip_x ? stored_width - 1 - x : x;
      std::memcpy(upright + (to_x * step_x + to_y * step_y) * pixel_bytes, from, static_cast<size_t>(pixel_bytes));
    }
  }
}

}  // namespace forebay
