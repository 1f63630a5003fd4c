#pragma once

#include <cstdint>

#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// True if encode_png() accepts the pixels: uint8, height × width × (1 or 3) channels, with at
/// least one pixel.
bool is_encodable_image(const Tensor& pixels);

/// Encodes pixels as a PNG, from which decode_rows() returns the same pixels. Equal pixels give
/// equal bytes. InvalidArgument unless is_encodable_image().
Result<Buffer> encode_png(const Tensor& pixels);

/// Encodes pixels as a baseline JPEG, from which decode_rows() returns nearly the same pixels.
/// `quality` is 1 to 100 on libjpeg's scale; below 90 colour has half the resolution.
/// InvalidArgument unless is_encodable_image(), or if a side exceeds 65,500 pixels.
Result<Buffer> encode_jpeg(const Tensor& pixels, int quality);

}  // namespace forebay
