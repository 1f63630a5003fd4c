#pragma once

#include <cstdint>

#include "base/work_memory.h"
#include "codec/image.h"
#include "ops/image/axis.h"
#include "ops/image/kernels.h"
#include "ops/image/row_writer.h"

namespace forebay {

/// The work of one resize: two axes, and the place of the result inside the output. The output is
/// zero around the result.
struct ResampleSpec {
  AxisSpec horizontal, vertical;
  int64_t channels = 3;
  int64_t left = 0, top = 0;  ///< left and top edge of the result inside the output
  int64_t width = 0;          ///< width of the output

  /// True if the vertical pass runs first. The order decides the last bit of some pixels, because
  /// the result of a pass is rounded to 8 bits. The rule is Pillow 13's: the vertical pass is first
  /// if the height shrinks by more than twice as much as the width.
  bool vertical_first() const;
  uint64_t working_bytes() const;
};

/// Receives the rows of a picture one by one and writes each finished row of the result as soon as
/// its last input row has arrived. It holds only the input rows that one output row needs, never a
/// whole intermediate picture. One thread uses it, for one picture. `spec` and `writer` must
/// outlive it, and its bytes of `memory` may not be released before it is destroyed.
class Resampler final : public RowSink {
 public:
  /// Uses scratch `slot` of `memory`. The caller has reserved spec.working_bytes() bytes.
  Resampler(const ResampleSpec& spec, const ImageKernels& kernels, RowWriter& writer, WorkMemory& memory, int slot);
  void row(const uint8_t* row) override;
  /// A row of zeros in the layout that the writer expects.
  const uint8_t* blank_row() const { return blank_; }

 private:
  void horizontal_pass(const uint8_t* row, uint8_t* out) const;
  void finish_row(int64_t y);
  const uint8_t* vertical_pass(int64_t y);
  uint8_t* ring_row(int64_t index) { return ring_ + index % axis_y_.taps * ring_pitch_; }

  const ResampleSpec& spec_;
  const ImageKernels& kernels_;
  RowWriter& writer_;
  const bool vertical_first_;
  int64_t ring_row_bytes_, ring_pitch_;
  Axis axis_x_, axis_y_;
  HorizontalTaps taps_x_;
  // Ring of axis_y_.taps rows; they have passed the horizontal pass unless that is the second pass.
  uint8_t* ring_;
  uint8_t* vertical_result_;    // result of the vertical pass
  uint8_t* horizontal_result_;  // result of both passes if the horizontal pass is the second
  uint8_t* blank_;
  const uint8_t** tap_rows_;  // the input rows of one output row
  int64_t rows_in_ = 0, rows_out_ = 0;
};

}  // namespace forebay
