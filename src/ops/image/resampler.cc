#include "ops/image/resampler.h"

#include <algorithm>
#include <cstring>

namespace forebay {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t align(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

uint64_t row_bytes(const ResampleSpec& spec) {
  return align(static_cast<uint64_t>(spec.width * pixel_pitch(spec.channels) + kRowSlack));
}

// Hands out parts of one piece of memory.
class Carver {
 public:
  explicit Carver(std::span<uint8_t> memory) : memory_(memory) {}
  std::span<uint8_t> take(uint64_t bytes) {
    const std::span<uint8_t> part = memory_.first(bytes);
    memory_ = memory_.subspan(align(bytes));
    return part;
  }

 private:
  std::span<uint8_t> memory_;
};

}  // namespace

uint64_t ResampleSpec::working_bytes() const {
  const auto kept_rows = static_cast<uint64_t>(max_taps(vertical));
  return align(Axis::bytes(horizontal)) + align(Axis::bytes(vertical)) + align(HorizontalTaps::bytes(horizontal)) +
         (kept_rows + 2) * row_bytes(*this) + align(kept_rows * sizeof(uint8_t*));
}

Resampler::Resampler(const ResampleSpec& spec, const ImageKernels& kernels, RowWriter& writer, WorkMemory& memory, int slot)
    : spec_(spec),
      kernels_(kernels),
      writer_(writer),
      row_pitch_(static_cast<int64_t>(row_bytes(spec))),
      source_rows_(input_range(spec.vertical).count) {
  Carver carver(memory.scratch(slot, spec.working_bytes()));
  axis_x_ = Axis::build(spec.horizontal, carver.take(Axis::bytes(spec.horizontal)));
  axis_y_ = Axis::build(spec.vertical, carver.take(Axis::bytes(spec.vertical)));
  const std::span<uint8_t> taps = carver.take(HorizontalTaps::bytes(spec.horizontal));
  if (spec.channels == 3) taps_x_ = HorizontalTaps::build(axis_x_, taps);
  // The sides of the rows stay zero: the horizontal pass only writes between them.
  rows_ = carver.take(static_cast<uint64_t>(axis_y_.taps * row_pitch_)).data();
  std::memset(rows_, 0, static_cast<size_t>(axis_y_.taps * row_pitch_));
  finished_ = carver.take(static_cast<uint64_t>(row_pitch_)).data();
  blank_ = carver.take(static_cast<uint64_t>(row_pitch_)).data();
  std::memset(blank_, 0, static_cast<size_t>(row_pitch_));
  taken_ = reinterpret_cast<const uint8_t**>(carver.take(static_cast<uint64_t>(axis_y_.taps) * sizeof(uint8_t*)).data());
}

void Resampler::row(const uint8_t* row) {
  uint8_t* const to = kept_row(come_++) + spec_.left * pixel_pitch(spec_.channels);
  if (spec_.channels == 3) {
    kernels_.horizontal_rgb(taps_x_, row, to);
  } else {
    horizontal_any(axis_x_, spec_.channels, row, to);
  }
  while (done_ < axis_y_.count && std::min(axis_y_.start[done_] + axis_y_.taps, source_rows_) <= come_) finish_row(done_++);
}

void Resampler::finish_row(int64_t y) {
  const int64_t start = axis_y_.start[y], taps = std::min(axis_y_.taps, source_rows_ - start);
  const int32_t* const weights = &axis_y_.weights[y * axis_y_.taps];
  if (taps == 1 && weights[0] == kWeightOne) return writer_.write(spec_.top + y, kept_row(start));
  for (int64_t t = 0; t < taps; ++t) taken_[t] = kept_row(start + t);
  kernels_.vertical(weights, taps, taken_, spec_.width * pixel_pitch(spec_.channels), finished_);
  writer_.write(spec_.top + y, finished_);
}

}  // namespace forebay
