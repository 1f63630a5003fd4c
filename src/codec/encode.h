#pragma once

#include <cstdint>

#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// True if an image file can hold the pixels: uint8, height × width × (1 or 3) channels, with at
/// least one pixel.
bool can_be_encoded(const Tensor& pixels);

/// Encodes pixels as a PNG, from which decode_rows() returns the same pixels. Equal pixels give
/// equal bytes. InvalidArgument unless can_be_encoded().
Result<Buffer> encode_png(const Tensor& pixels);

/// Encodes pixels as a baseline JPEG, from which decode_rows() returns nearly the same pixels.
/// `quality` is 1 to 100 on libjpeg's scale; below 90 colour has half the resolution.
/// InvalidArgument unless can_be_encoded(), or if a side exceeds 65,500 pixels.
Result<Buffer> encode_jpeg(const Tensor& pixels, int quality);

/// Inserts a restart marker after each row of blocks of a JPEG, and merges its scans into one. The
/// coefficients, and so the pixels, stay the same, as do other segments (EXIF, profiles, comments).
/// The result is decoded and compared before it is returned. Equal files give equal bytes.
///
/// Returns `file` itself if that is impossible: if it is not a JPEG, is damaged, arithmetic or
/// lossless, or has more than 100 million pixels.
Buffer with_restart_markers(const Buffer& file);

}  // namespace forebay
