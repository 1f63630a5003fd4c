#pragma once

#include "ops/image/kernels.h"

// The kernels in vectors. One text (kernels_lanes.inl) is compiled for each instruction set, over the
// few intrinsics that it needs of it. NEON is for aarch64, the others are for x86.

#define FOREBAY_DECLARE_KERNELS                                                                                 \
  void horizontal_rgb(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out);                            \
  void vertical(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes, uint8_t* out); \
  void planar_float(const uint8_t* pixels, int64_t width, const float* scale, const float* bias,                \
                    float* const* planes);                                                                      \
  void packed_rgb(const uint8_t* pixels, int64_t width, uint8_t* out);

namespace forebay::neon {
FOREBAY_DECLARE_KERNELS
}
namespace forebay::sse4 {
FOREBAY_DECLARE_KERNELS
}
namespace forebay::avx2 {
FOREBAY_DECLARE_KERNELS
}
namespace forebay::avx512 {
FOREBAY_DECLARE_KERNELS
}
