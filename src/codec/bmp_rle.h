#pragma once

#include <cstdint>

#include "codec/bmp_header.h"

namespace forebay {

/// Unpacks run-length coded data and writes the indices of `crop` (in picture coordinates, top to bottom) to `to`. Pixels that
/// the data passes over are 0. Corrupt where it ends before the picture is full.
/// Memory is the caller's: one byte a pixel of the crop. Linear in the runs, however long they claim to be.
Status unpack_bmp_runs(Bytes file, const BmpHeader& header, const Rect& crop, uint8_t* to);

}  // namespace forebay
