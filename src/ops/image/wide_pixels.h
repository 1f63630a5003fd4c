#pragma once

#include <span>

#include "ops/image/pixel_source.h"

// Pictures of 16 bits are decoded, resized and normalized at once, each time into a new tensor,
// because the lazy pass over rows supports 8 bits only. Pictures of float32 are resized here, too.

namespace forebay {

/// Decodes the whole picture, upright, to (height, width, channels) of uint16. `from.mode` is
/// kRgb16 or kGray16. OutOfBudget comes from WorkMemory::reserve().
Result<Tensor> decode_wide(const EncodedPixels& from, WorkMemory& memory);

/// Resizes uint16 or float32 pixels with the weights of the 8-bit resize (Pillow's), and rounds each
/// pass to their type. The result is (height, width, channels) of that type.
Result<Tensor> resize_wide(const TensorPixels& from, int64_t height, int64_t width, WorkMemory& memory);

/// Computes x × scale + bias of uint16 pixels, with one scale and bias per channel. The result is
/// (height, width, channels) of float32.
Result<Tensor> normalize_wide(const TensorPixels& from, std::span<const float> scale, std::span<const float> bias,
                              WorkMemory& memory);

}  // namespace forebay
