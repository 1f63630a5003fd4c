#pragma once

#include "ops/image/kernels.h"

namespace forebay::scalar {

/// The kernels in plain C++. They define the results of all others and run on processors without a
/// vector version.
void vertical(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes, uint8_t* out);
void planar_float(const uint8_t* pixels, int64_t width, const float* scale, const float* bias, float* const* planes);
void packed_rgb(const uint8_t* pixels, int64_t width, uint8_t* out);

}  // namespace forebay::scalar
