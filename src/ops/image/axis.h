#pragma once

#include <cstdint>
#include <span>

namespace forebay {

enum class Interpolation : uint8_t {
  kBilinear,  ///< anti-aliased: the triangle grows with the reduction, as in Pillow
  kNearest,
};

/// Weights are fixed-point numbers with so many bits behind the point, as in Pillow.
constexpr int kWeightBits = 22;
constexpr int32_t kWeightOne = 1 << kWeightBits;

/// One direction of a resize: `in` samples become `out`, of which only [first, first + count) are wanted.
struct AxisSpec {
  int64_t in = 0, out = 0;
  int64_t first = 0, count = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool flip_in = false;   ///< the samples come in backwards
  bool flip_out = false;  ///< the wanted ones are given backwards

  bool identity() const { return in == out; }
};

/// The samples [first, first + count) of the input that have a part in the wanted ones.
struct AxisRange {
  int64_t first = 0, count = 0;
};
AxisRange input_range(const AxisSpec& spec);

/// An upper bound of the taps of one output.
int64_t max_taps(const AxisSpec& spec);

/// The one sample that each wanted output equals (identity or kNearest).
void nearest_indices(const AxisSpec& spec, std::span<int64_t> indices);

/// Which samples make which output, and with what weight. Output i is (Σ weights[i × taps + t] × sample[start[i] + t] +
/// half) >> kWeightBits, exactly what Pillow computes. No tap lies outside input_range().
struct Axis {
  int64_t count = 0;
  int64_t taps = 0;            ///< weights per output, zeros where fewer count
  std::span<int32_t> start;    ///< relative to input_range().first
  std::span<int32_t> weights;  ///< count × taps

  /// Bytes of memory that build() needs.
  static uint64_t bytes(const AxisSpec& spec);
  /// Lays the tables out in `memory` (bytes(spec) long, 8-byte aligned), which must outlive the axis.
  static Axis build(const AxisSpec& spec, std::span<uint8_t> memory);
};

}  // namespace forebay
