#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/step_meter.h"
#include "forebay/dtype.h"
#include "ops/image/kernels.h"

namespace forebay {

/// Maximum number of channels of a picture.
constexpr int64_t kMaxChannels = 4;

/// x × scale + bias in float32, per channel.
struct Pointwise {
  std::array<float, kMaxChannels> scale{};
  std::array<float, kMaxChannels> bias{};
};

/// Output format of finished pixels.
struct PixelFormat {
  int64_t width = 0, height = 0, channels = 3;
  bool channels_first = false;
  DType dtype = DType::kUint8;
  bool scaled = false;  ///< apply `pointwise` before the conversion to `dtype`
  Pointwise pointwise;
};

/// The last step of the image pass: converts rows of 8-bit pixels, pixel_pitch(channels) bytes
/// each, and writes them to their place in the output. One thread uses it and writes each row once,
/// in any order. `format` and `kernels` must outlive it. The caller owns `out`, whose length
/// follows from the format.
class RowWriter {
 public:
  RowWriter(const PixelFormat& format, const ImageKernels& kernels, std::span<uint8_t> out);
  void write(int64_t y, const uint8_t* pixels);
  /// Books the time of later writes to that pipeline step.
  void book(StepMeter& meter, int step) { meter_ = &meter, step_ = step; }

 private:
  void put(int64_t y, const uint8_t* pixels);
  template <typename T>
  void write_by_table(int64_t y, const uint8_t* pixels);
  void fill_table();

  const PixelFormat& format_;
  const ImageKernels& kernels_;
  uint8_t* out_;
  bool planar_float_, packed_bytes_;
  StepMeter* meter_ = nullptr;
  int step_ = 0;
  // An 8-bit pixel has 256 values, so every other format is a table look-up.
  alignas(8) std::array<uint8_t, kMaxChannels * 256 * 8> table_;
};

}  // namespace forebay
