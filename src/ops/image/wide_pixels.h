#pragma once

#include <span>

#include "ops/image/pixel_source.h"

// Pictures of 16 bits are decoded, resized and normalized at once, into a tensor: the one pass over the rows is for 8 bits.

namespace forebay {

/// The whole picture, upright: (height, width, channels) of uint16. `from.mode` is kRgb16 or kGray16. OutOfBudget as WorkMemory::reserve().
Result<Tensor> decode_wide(const EncodedPixels& from, WorkMemory& memory);

/// By the weights of the 8-bit resize (Pillow's), each pass rounded to 16 bits: (height, width, channels) of uint16.
Result<Tensor> resize_wide(const TensorPixels& from, int64_t height, int64_t width, WorkMemory& memory);

/// x × scale + bias, one of each per channel: (height, width, channels) of float32, of uint16.
Result<Tensor> normalize_wide(const TensorPixels& from, std::span<const float> scale, std::span<const float> bias,
                              WorkMemory& memory);

}  // namespace forebay
