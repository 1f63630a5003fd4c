#include "ops/image/axis.h"

#include <algorithm>
#include <cmath>

namespace forebay {
namespace {

// Everything here follows Pillow's order of operations in double precision, because the last bit
// decides the weights.
struct Triangle {
  explicit Triangle(const AxisSpec& spec)
      : scale(static_cast<double>(spec.in) / static_cast<double>(spec.out)), support(std::max(scale, 1.0)),
        in(spec.in) {}

  double scale, support;
  int64_t in;

  double center(int64_t i) const { return (static_cast<double>(i) + 0.5) * scale; }
  // Adds a half and truncates, as Pillow does. The ends of a window lie within the picture.
  int64_t begin(int64_t i) const { return std::max<int64_t>(static_cast<int64_t>(center(i) - support + 0.5), 0); }
  int64_t end(int64_t i) const { return std::min<int64_t>(static_cast<int64_t>(center(i) + support + 0.5), in); }
};

// The weights of one output before they are laid out. The first belongs to sample `begin`.
struct Taps {
  int64_t begin = 0;
  std::span<int32_t> weights;
};

Taps bilinear_taps(const Triangle& triangle, int64_t i, std::span<double> exact, std::span<int32_t> rounded) {
  const int64_t begin = triangle.begin(i), n = triangle.end(i) - begin;
  const double center = triangle.center(i), slope = 1.0 / triangle.support;
  double sum = 0;
  for (int64_t t = 0; t < n; ++t) {
    const double distance = std::abs((static_cast<double>(t + begin) - center + 0.5) * slope);
    exact[t] = distance < 1.0 ? 1.0 - distance : 0.0;
    sum += exact[t];
  }
  for (int64_t t = 0; t < n; ++t) {
    // If the sum is 0, all weights are 0.
    const double share = sum != 0.0 ? exact[t] / sum : exact[t];
    // Weights are not negative, so adding a half rounds them.
    rounded[t] = static_cast<int32_t>(0.5 + share * kWeightOne);
  }
  // Zeros at the ends do not change the sum but cost time.
  int64_t low = 0, high = n;
  while (high > 1 && rounded[high - 1] == 0) --high;
  while (low < high - 1 && rounded[low] == 0) ++low;
  return {begin + low, rounded.subspan(low, high - low)};
}

// Pillow adds the step repeatedly instead of multiplying; the accumulated rounding errors decide
// ties.
class NearestWalk {
 public:
  explicit NearestWalk(const AxisSpec& spec)
      : step_(static_cast<double>(spec.in) / static_cast<double>(spec.out)), position_(step_ * 0.5),
        last_(spec.in - 1) {
    // Also walks over the outputs that are not computed, because their rounding errors accumulate.
    for (int64_t i = 0; i < spec.first; ++i) position_ += step_;
  }
  int64_t next() {
    // The accumulated errors may lead past the last sample.
    const int64_t index = std::min(static_cast<int64_t>(position_), last_);
    position_ += step_;
    return index;
  }

 private:
  double step_, position_;
  int64_t last_;
};

AxisRange unflipped_range(const AxisSpec& spec) {
  if (spec.identity()) return {spec.first, spec.count};
  if (spec.interpolation == Interpolation::kNearest) {
    NearestWalk walk(spec);
    const int64_t first = walk.next();
    int64_t last = first;
    for (int64_t i = 1; i < spec.count; ++i) last = walk.next();
    return {first, last + 1 - first};
  }
  const Triangle triangle(spec);
  const int64_t begin = triangle.begin(spec.first);
  return {begin, triangle.end(spec.first + spec.count - 1) - begin};
}

constexpr uint64_t align8(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Packs tables with a stride of `stride` weights per output to a stride of `taps`, the longest
// actually needed.
void compact(std::span<int32_t> weights, int64_t count, int64_t stride, int64_t taps) {
  for (int64_t i = 1; i < count; ++i) std::copy_n(&weights[i * stride], taps, &weights[i * taps]);
}

// Outputs near the end have fewer weights. Moving their zeros to the front avoids taps past the
// last sample.
void keep_inside(Axis& axis, int64_t samples) {
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t over = axis.start[i] + axis.taps - samples;
    if (over <= 0) continue;
    int32_t* const weights = &axis.weights[i * axis.taps];
    std::move_backward(weights, weights + axis.taps - over, weights + axis.taps);
    std::fill_n(weights, over, 0);
    axis.start[i] -= static_cast<int32_t>(over);
  }
}

}  // namespace

int64_t max_taps(const AxisSpec& spec) {
  if (spec.identity() || spec.interpolation == Interpolation::kNearest) return 1;
  const double support = std::max(static_cast<double>(spec.in) / static_cast<double>(spec.out), 1.0);
  // This is an upper bound, because it sizes memory before any weight is known. compact() then uses
  // the true number.
  return std::min(2 * static_cast<int64_t>(std::ceil(support)) + 1, spec.in);
}

AxisRange input_range(const AxisSpec& spec) {
  AxisRange range = unflipped_range(spec);
  if (spec.flip_in) range.first = spec.in - range.first - range.count;
  return range;
}

void nearest_indices(const AxisSpec& spec, std::span<int64_t> indices) {
  NearestWalk walk(spec);
  for (int64_t i = 0; i < spec.count; ++i) {
    const int64_t index = spec.identity() ? spec.first + i : walk.next();
    indices[spec.flip_out ? spec.count - 1 - i : i] = spec.flip_in ? spec.in - 1 - index : index;
  }
}

uint64_t Axis::bytes(const AxisSpec& spec) {
  const auto count = static_cast<uint64_t>(spec.count), taps = static_cast<uint64_t>(max_taps(spec));
  return taps * (sizeof(double) + sizeof(int32_t)) + align8(count * sizeof(int32_t)) +
         align8(count * taps * sizeof(int32_t)) + 8;
}

Axis Axis::build(const AxisSpec& spec, std::span<uint8_t> memory) {
  const int64_t stride = max_taps(spec), origin = input_range(spec).first;
  // Doubles come first, where the memory is aligned; tables with a smaller alignment follow.
  const std::span<double> exact(reinterpret_cast<double*>(memory.data()), stride);
  int32_t* const integers = reinterpret_cast<int32_t*>(exact.data() + stride);
  const std::span<int32_t> rounded(integers, stride);
  Axis axis{spec.count,
            1,
            {integers + stride, static_cast<size_t>(spec.count)},
            {integers + stride + spec.count, static_cast<size_t>(spec.count * stride)}};

  const Triangle triangle(spec);
  NearestWalk walk(spec);
  const bool weighted = !spec.identity() && spec.interpolation == Interpolation::kBilinear;
  for (int64_t i = 0; i < spec.count; ++i) {
    Taps taps;
    if (weighted) {
      taps = bilinear_taps(triangle, spec.first + i, exact, rounded);
    } else {
      rounded[0] = kWeightOne;
      taps = {spec.identity() ? spec.first + i : walk.next(), rounded.first(1)};
    }
    const auto n = static_cast<int64_t>(taps.weights.size());
    // Mirroring reverses weights and places instead of moving pixels, so it costs nothing.
    if (spec.flip_in) {
      std::reverse(taps.weights.begin(), taps.weights.end());
      taps.begin = spec.in - taps.begin - n;
    }
    const int64_t at = spec.flip_out ? spec.count - 1 - i : i;
    // Relative to the first sample that is needed; samples before it are not even decoded.
    axis.start[at] = static_cast<int32_t>(taps.begin - origin);
    int32_t* const to = &axis.weights[at * stride];
    std::fill(std::copy(taps.weights.begin(), taps.weights.end(), to), to + stride, 0);
    axis.taps = std::max(axis.taps, n);
  }
  compact(axis.weights, axis.count, stride, axis.taps);
  // From here on the weights are packed, as the kernels read them.
  axis.weights = axis.weights.first(axis.count * axis.taps);
  keep_inside(axis, input_range(spec).count);
  return axis;
}

}  // namespace forebay
