#pragma once

#include <cstdint>

#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// Pixels that a file of a picture can hold: uint8, height × width × (1 or 3) channels, with at least one pixel.
bool can_be_encoded(const Tensor& pixels);

/// As a PNG, from which decode_rows() gives the same pixels. InvalidArgument where they cannot be encoded. Equal pixels give equal bytes.
Result<Buffer> encode_png(const Tensor& pixels);

/// As a baseline JPEG, from which decode_rows() gives about the same pixels. `quality`: 1 to 100, as the libraries count it; colour is kept at half the resolution below 90.
/// InvalidArgument where they cannot be encoded, or a side has more than 65,500.
Result<Buffer> encode_jpeg(const Tensor& pixels, int quality);

/// The same JPEG with a restart marker behind each row of blocks, in one scan: the coefficients, and so the pixels, are those of `file`, and so are its
/// other segments (EXIF, profiles, comments). The file itself where that cannot be: what is no JPEG, damaged, arithmetic or lossless, of more than 100 million
/// pixels; each result is decoded and compared. Equal files give equal bytes.
Buffer with_restart_markers(const Buffer& file);

}  // namespace forebay
