#include "ops/image/resampler.h"

#include <cstring>

namespace forebay {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t align(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

uint64_t output_row_bytes(const ResampleSpec& spec) {
  return static_cast<uint64_t>(spec.width * pixel_pitch(spec.channels));
}
uint64_t ring_row_bytes(const ResampleSpec& spec) {
  if (!spec.vertical_first()) return output_row_bytes(spec);
  return static_cast<uint64_t>(input_range(spec.horizontal).count * spec.channels);
}
uint64_t with_slack(uint64_t bytes) { return align(bytes + kRowSlack); }

// Splits one piece of memory into parts.
class ScratchArena {
 public:
  explicit ScratchArena(std::span<uint8_t> memory) : memory_(memory) {}
  std::span<uint8_t> take(uint64_t bytes) {
    const std::span<uint8_t> part = memory_.first(bytes);
    memory_ = memory_.subspan(align(bytes));
    return part;
  }
  uint8_t* take_zeros(uint64_t bytes) {
    const std::span<uint8_t> part = take(bytes);
    std::memset(part.data(), 0, part.size());
    return part.data();
  }

 private:
  std::span<uint8_t> memory_;
};

}  // namespace

bool ResampleSpec::vertical_first() const {
  const int64_t fewer_rows = vertical.in - vertical.out, fewer_columns = horizontal.in - horizontal.out;
  // Nearest rounds nothing, so the order makes no difference to it.
  return fewer_rows > 0 && fewer_rows > 2 * fewer_columns && horizontal.interpolation == Interpolation::kBilinear;
}

uint64_t ResampleSpec::working_bytes() const {
  const auto ring_rows = static_cast<uint64_t>(max_taps(vertical));
  return align(Axis::bytes(horizontal)) + align(Axis::bytes(vertical)) + align(HorizontalTaps::bytes(horizontal)) +
         (ring_rows + 1) * with_slack(ring_row_bytes(*this)) + 2 * with_slack(output_row_bytes(*this)) +
         align(ring_rows * sizeof(uint8_t*));
}

Resampler::Resampler(const ResampleSpec& spec, const ImageKernels& kernels, RowWriter& writer, WorkMemory& memory,
                     int slot)
    : spec_(spec), kernels_(kernels), writer_(writer), vertical_first_(spec.vertical_first()),
      ring_row_bytes_(static_cast<int64_t>(ring_row_bytes(spec))),
      ring_pitch_(static_cast<int64_t>(with_slack(ring_row_bytes(spec)))) {
  ScratchArena arena(memory.scratch(slot, spec.working_bytes()));
  axis_x_ = Axis::build(spec.horizontal, arena.take(Axis::bytes(spec.horizontal)));
  axis_y_ = Axis::build(spec.vertical, arena.take(Axis::bytes(spec.vertical)));
  const std::span<uint8_t> taps = arena.take(HorizontalTaps::bytes(spec.horizontal));
  // The vector kernels support three channels, the most frequent case; others take the portable
  // pass.
  if (spec.channels == 3) taps_x_ = HorizontalTaps::build(axis_x_, taps);
  // The horizontal pass writes only between the margins of its rows; the margins stay zero.
  ring_ = arena.take_zeros(static_cast<uint64_t>(axis_y_.taps * ring_pitch_));
  vertical_result_ = arena.take(static_cast<uint64_t>(ring_pitch_)).data();
  horizontal_result_ = arena.take_zeros(with_slack(output_row_bytes(spec)));
  blank_ = arena.take_zeros(with_slack(output_row_bytes(spec)));
  tap_rows_ =
      reinterpret_cast<const uint8_t**>(arena.take(static_cast<uint64_t>(axis_y_.taps) * sizeof(uint8_t*)).data());
}

void Resampler::row(const uint8_t* row) {
  uint8_t* const to = ring_row(rows_in_++);
  if (vertical_first_) {
    // Copied, because the decoder reuses its row when this returns.
    std::memcpy(to, row, static_cast<size_t>(ring_row_bytes_));
  } else {
    horizontal_pass(row, to);
  }
  // One input row may finish several output rows if the picture is enlarged.
  while (rows_out_ < axis_y_.count && axis_y_.start[rows_out_] + axis_y_.taps <= rows_in_) finish_row(rows_out_++);
}

void Resampler::horizontal_pass(const uint8_t* row, uint8_t* out) const {
  out += spec_.left * pixel_pitch(spec_.channels);
  if (spec_.channels == 3) {
    kernels_.horizontal_rgb(taps_x_, row, out);
  } else {
    horizontal_any(axis_x_, spec_.channels, row, out);
  }
}

void Resampler::finish_row(int64_t y) {
  const uint8_t* row = vertical_pass(y);
  if (vertical_first_) {
    horizontal_pass(row, horizontal_result_);
    row = horizontal_result_;
  }
  writer_.write(spec_.top + y, row);
}

const uint8_t* Resampler::vertical_pass(int64_t y) {
  const int64_t start = axis_y_.start[y], taps = axis_y_.taps;
  const int32_t* const weights = &axis_y_.weights[y * axis_y_.taps];
  // A single tap of weight one is the row itself, so no copy is made.
  if (taps == 1 && weights[0] == kWeightOne) return ring_row(start);
  for (int64_t t = 0; t < taps; ++t) tap_rows_[t] = ring_row(start + t);
  kernels_.vertical(weights, taps, tap_rows_, ring_row_bytes_, vertical_result_);
  return vertical_result_;
}

}  // namespace forebay
