#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// Method of a resize.
enum class Interpolation : uint8_t {
  kBilinear,  ///< anti-aliased: the triangle widens with the reduction, as in Pillow
  kNearest,
};

/// Fraction bits of the fixed-point weights, as in Pillow.
constexpr int kWeightBits = 22;
constexpr int32_t kWeightOne = 1 << kWeightBits;

/// One direction of a resize: `in` samples become `out`, of which only [first, first + count) are
/// computed.
struct AxisSpec {
  int64_t in = 0, out = 0;
  int64_t first = 0, count = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool flip_in = false;   ///< the input samples are in reverse order
  bool flip_out = false;  ///< the computed samples are written in reverse order

  bool identity() const { return in == out; }
};

/// The input samples [first, first + count) that the computed outputs depend on.
struct AxisRange {
  int64_t first = 0, count = 0;
};
AxisRange input_range(const AxisSpec& spec);

/// An upper bound of the taps per output.
int64_t max_taps(const AxisSpec& spec);

/// Fills `indices` with the input sample that each computed output equals (identity or kNearest).
void nearest_indices(const AxisSpec& spec, std::span<int64_t> indices);

/// The input samples and weights of each output. Output i is (Σ weights[i × taps + t] ×
/// sample[start[i] + t] + half) >> kWeightBits, exactly as Pillow computes it. No tap lies outside
/// input_range().
struct Axis {
  int64_t count = 0;
  int64_t taps = 0;            ///< weights per output; unused ones are 0
  std::span<int32_t> start;    ///< relative to input_range().first
  std::span<int32_t> weights;  ///< count × taps

  /// Bytes of memory that build() needs.
  static uint64_t bytes(const AxisSpec& spec);
  /// Builds the tables in `memory`, which must outlive the axis. It is bytes(spec) long and 8-byte
  /// aligned.
  static Axis build(const AxisSpec& spec, std::span<uint8_t> memory);
};

}  // namespace forebay
