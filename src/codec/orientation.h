#pragma once

#include <cstdint>

#include "codec/image.h"

namespace forebay {

/// How an EXIF orientation (1 to 8) maps stored pixels to upright ones.
struct OrientationMap {
  bool transpose = false;  ///< upright x runs along stored y
  bool flip_x = false;     ///< stored x runs backwards
  bool flip_y = false;     ///< stored y runs backwards
};
OrientationMap orientation_map(int orientation);

/// The rectangle of a stored image of this size that becomes `upright`.
Rect upright_to_stored(int64_t stored_width, int64_t stored_height, int orientation, const Rect& upright);

/// Writes the stored pixels (rows without gaps) in upright order. `upright` must not overlap
/// `stored`.
void orient_pixels(const uint8_t* stored, int64_t stored_w, int64_t stored_h, int channels, int orientation,
                   uint8_t* upright);

}  // namespace forebay
