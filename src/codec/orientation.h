#pragma once

#include <cstdint>

#include "codec/image.h"

namespace forebay {

/// A map from stored pixels to upright ones, which an EXIF orientation (1 to 8) states: apply the
/// flips to stored coordinates, then transpose.
struct OrientationMap {
  bool transpose = false;  ///< upright x runs along stored y
  bool flip_x = false;     ///< stored x runs backwards
  bool flip_y = false;     ///< stored y runs backwards
};
/// Other values than 1 to 8 mean upright, as they are stored.
OrientationMap orientation_map(int orientation);

/// The rectangle of a stored image of this size that becomes `upright_rect`.
Rect upright_to_stored(int64_t stored_width, int64_t stored_height, int orientation, const Rect& upright_rect);

/// Writes the stored pixels, of `pixel_bytes` each, in upright order. Rows have no gaps. `upright`
/// must not overlap `stored`.
void orient_pixels(const uint8_t* stored, int64_t stored_width, int64_t stored_height, int pixel_bytes, int orientation,
                   uint8_t* upright);

}  // namespace forebay
