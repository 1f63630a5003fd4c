#pragma once

#include <cstdint>
#include <span>

#include "ops/image/axis.h"
#include "ops/image/simd_level.h"

namespace forebay {

/// Kernels may read and write this many bytes past the end of a row.
constexpr int64_t kRowSlack = 128;

/// Bytes of one pixel between the passes. A pixel of three channels takes four bytes, the last of
/// which is 0.
constexpr int64_t pixel_pitch(int64_t channels) { return channels == 3 ? 4 : channels; }

/// The horizontal axis in the layout of the kernels. Pixels come in blocks of four; the last block
/// is filled up with weights of 0. A weight w of 23 bits is split so that 16-bit products lose no
/// bit: w = high × 256 + low. A block stores, for each pair of taps, 4 pixels × 4 × (high of the
/// first, high of the second), then the same for the lows.
struct HorizontalTaps {
  const Axis* axis = nullptr;
  int64_t blocks = 0;
  int64_t pairs = 0;
  const int32_t* offset = nullptr;   ///< byte offset of the first tap; 4 per block
  const int16_t* weights = nullptr;  ///< 64 per block and pair

  static uint64_t bytes(const AxisSpec& spec);
  /// `memory` must be bytes(spec) long and 64-byte aligned.
  static HorizontalTaps build(const Axis& axis, std::span<uint8_t> memory);
};

/// The inner loops of the image operators, one set per instruction set, all with the same results.
/// They are plain functions without state and may be called from any thread.
struct ImageKernels {
  /// Resizes one row of packed RGB to `4 × blocks` pixels of four bytes.
  void (*horizontal_rgb)(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out);
  /// Computes the weighted sum of `taps` rows of `bytes` bytes.
  void (*vertical)(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes, uint8_t* out);
  /// Converts pixels of four bytes to three planes of x × scale + bias. Writes exactly `width`
  /// floats per plane.
  void (*planar_float)(const uint8_t* pixels, int64_t width, const float* scale, const float* bias,
                       float* const* planes);
  /// Converts pixels of four bytes to packed RGB. Writes exactly 3 × `width` bytes.
  void (*packed_rgb)(const uint8_t* pixels, int64_t width, uint8_t* out);
};

const ImageKernels& image_kernels(SimdLevel level);

/// The portable horizontal pass, for any number of channels. Writes pixels of pixel_pitch(channels)
/// bytes.
void horizontal_any(const Axis& axis, int64_t channels, const uint8_t* row, uint8_t* out);

}  // namespace forebay
