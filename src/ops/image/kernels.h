#pragma once

#include <cstdint>
#include <span>

#include "ops/image/axis.h"
#include "ops/image/simd_level.h"

namespace forebay {

/// Rows that kernels read and write may be overrun by this many bytes, in reading and in writing.
constexpr int64_t kRowSlack = 128;

/// Between the passes a pixel of three channels takes four bytes (the last is 0), any other as many as it has channels.
constexpr int64_t pixel_pitch(int64_t channels) { return channels == 3 ? 4 : channels; }

/// The horizontal axis laid out for the kernels. Pixels come in blocks of four, the last one filled up with weights of
/// 0. A weight w of 23 bits is split so that 16-bit products keep every bit: w = high × 256 + low. Per block and pair
/// of taps: 4 pixels × 4 × (high of the first, high of the second), then the same of the lows.
struct HorizontalTaps {
  const Axis* axis = nullptr;
  int64_t blocks = 0;
  int64_t pairs = 0;
  const int32_t* offset = nullptr;   ///< in bytes, of the first tap; 4 a block
  const int16_t* weights = nullptr;  ///< 64 a block and pair

  static uint64_t bytes(const AxisSpec& spec);
  /// `memory` is bytes(spec) long and aligned to 64.
  static HorizontalTaps build(const Axis& axis, std::span<uint8_t> memory);
};

/// The inner loops of the image operators, one set per instruction set, all with the same results.
/// Plain functions without state: any thread may call any of them at any time.
struct ImageKernels {
  /// One row of packed RGB to `4 × blocks` pixels of four bytes.
  void (*horizontal_rgb)(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out);
  /// The weighted sum of `taps` rows, `bytes` long.
  void (*vertical)(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes, uint8_t* out);
  /// Pixels of four bytes to three planes of x × scale + bias. Writes exactly `width` floats a plane.
  void (*planar_float)(const uint8_t* pixels, int64_t width, const float* scale, const float* bias,
                       float* const* planes);
  /// Pixels of four bytes to packed RGB. Writes exactly 3 × `width` bytes.
  void (*packed_rgb)(const uint8_t* pixels, int64_t width, uint8_t* out);
};

const ImageKernels& image_kernels(SimdLevel level);

/// The plain form of the horizontal pass, for any number of channels. Writes pixels of pixel_pitch(channels) bytes.
void horizontal_any(const Axis& axis, int64_t channels, const uint8_t* row, uint8_t* out);

}  // namespace forebay
