#pragma once

#include <cstdint>

#include "base/work_memory.h"
#include "codec/image.h"
#include "ops/image/axis.h"
#include "ops/image/kernels.h"
#include "ops/image/row_writer.h"

namespace forebay {

/// What is to be made of the rows of a picture: two axes, and where the result lies inside the output (zeros around
/// it).
struct ResampleSpec {
  AxisSpec horizontal, vertical;
  int64_t channels = 3;
  int64_t left = 0, top = 0;  ///< of the result inside the output
  int64_t width = 0;          ///< of the output

  /// Which pass comes first decides the last bit of some pixels, since the result of a pass is rounded to 8 bits. The
  /// rule is that of Pillow 13: down before across where the height shrinks by more than twice what the width does.
  bool vertical_first() const;
  uint64_t working_bytes() const;
};

/// Takes the rows of a picture one by one and writes each finished row of the result as soon as the last row it needs
/// has come. It keeps the few rows that one row of the result is made of, and no picture lies in between.
/// One thread, one picture. `spec` and `writer` must outlive it, and `memory` may not be given back before.
class Resampler final : public RowSink {
 public:
  /// Uses scratch `slot` of `memory`, whose bytes (spec.working_bytes()) are reserved.
  Resampler(const ResampleSpec& spec, const ImageKernels& kernels, RowWriter& writer, WorkMemory& memory, int slot);
  void row(const uint8_t* row) override;
  /// A row of zeros in the layout that the writer takes.
  const uint8_t* blank_row() const { return blank_; }

 private:
  void across(const uint8_t* row, uint8_t* out) const;
  void finish_row(int64_t y);
  const uint8_t* down(int64_t y);
  uint8_t* kept_row(int64_t index) { return kept_ + index % axis_y_.taps * kept_pitch_; }

  const ResampleSpec& spec_;
  const ImageKernels& kernels_;
  RowWriter& writer_;
  const bool vertical_first_;
  int64_t kept_bytes_, kept_pitch_;
  Axis axis_x_, axis_y_;
  HorizontalTaps taps_x_;
  uint8_t* kept_;   // axis_y_.taps rows, used in turn: after the horizontal pass, or as they came if it is the second
  uint8_t* mixed_;  // the result of the vertical pass
  uint8_t* finished_;  // of both, where the horizontal pass is the second
  uint8_t* blank_;
  const uint8_t** taken_;  // the rows of one row of the result
  int64_t come_ = 0, done_ = 0;
};

}  // namespace forebay
