#pragma once

#include <cstdint>

#include "codec/image.h"
#include "plan/random.h"

namespace forebay {

/// Ranges from which random_resized_crop draws.
struct CropRanges {
  double scale_low = 0.08, scale_high = 1.0;             ///< fraction of the area
  double ratio_low = 3.0 / 4.0, ratio_high = 4.0 / 3.0;  ///< width divided by height
};

/// Draws the part of a picture that random_resized_crop takes, as torchvision does: ten attempts,
/// then the middle.
Rect draw_crop(int64_t height, int64_t width, const CropRanges& ranges, RandomStream& random);

}  // namespace forebay
