#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/step_meter.h"
#include "forebay/dtype.h"
#include "ops/image/kernels.h"

namespace forebay {

/// Most channels a picture may have.
constexpr int64_t kMaxChannels = 4;

/// x × scale + bias in float32, per channel.
struct Pointwise {
  std::array<float, kMaxChannels> scale{};
  std::array<float, kMaxChannels> bias{};
};

/// What finished pixels become.
struct PixelFormat {
  int64_t width = 0, height = 0, channels = 3;
  bool channels_first = false;
  DType dtype = DType::kUint8;
  bool scaled = false;  ///< by `pointwise`, before the conversion to `dtype`
  Pointwise pointwise;
};

/// The last step of the image pass: rows of 8-bit pixels, pixel_pitch(channels) bytes each, to their place in the
/// output.
/// One thread; rows in any order, each once. `format` and `kernels` must outlive it; `out` is the caller's, and as long as the format says.
class RowWriter {
 public:
  RowWriter(const PixelFormat& format, const ImageKernels& kernels, std::span<uint8_t> out);
  void write(int64_t y, const uint8_t* pixels);
  /// The time it takes is that step's.
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
  // An 8-bit pixel has 256 values, so any other format is a look-up.
  alignas(8) std::array<uint8_t, kMaxChannels * 256 * 8> table_;
};

}  // namespace forebay
