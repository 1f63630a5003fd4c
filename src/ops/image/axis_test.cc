#include "ops/image/axis.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

struct Built {
  std::vector<uint8_t> memory;
  Axis axis;
};

Built build(const AxisSpec& spec) {
  Built built{std::vector<uint8_t>(Axis::bytes(spec)), {}};
  built.axis = Axis::build(spec, built.memory);
  return built;
}

std::vector<AxisSpec> specs() {
  std::vector<AxisSpec> all;
  for (const int64_t in : {1, 2, 3, 10, 97, 500, 4000}) {
    for (const int64_t out : {1, 2, 7, 97, 224, 500}) {
      for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kNearest}) {
        for (const int flips : {0, 1, 2, 3}) {
          const bool flip_in = (flips & 1) != 0, flip_out = (flips & 2) != 0;
          all.push_back({in, out, 0, out, interpolation, flip_in, flip_out});
          if (out > 4) all.push_back({in, out, out / 3, out / 2, interpolation, flip_in, flip_out});
          all.push_back({in, out, out - 1, 1, interpolation, flip_in, flip_out});
        }
      }
    }
  }
  return all;
}

TEST(axis, every_tap_lies_inside_and_weights_sum_to_one) {
  for (const AxisSpec& spec : specs()) {
    const Built built = build(spec);
    const Axis& axis = built.axis;
    const AxisRange range = input_range(spec);
    ASSERT_GE(range.first, 0);
    ASSERT_LE(range.first + range.count, spec.in);
    ASSERT_EQ(axis.count, spec.count);
    ASSERT_LE(axis.taps, max_taps(spec));
    for (int64_t i = 0; i < axis.count; ++i) {
      ASSERT_GE(axis.start[i], 0);
      ASSERT_LE(axis.start[i] + axis.taps, range.count) << spec.in << " to " << spec.out;
      int64_t sum = 0;
      for (int64_t t = 0; t < axis.taps; ++t) sum += axis.weights[i * axis.taps + t];
      EXPECT_NEAR(static_cast<double>(sum), kWeightOne, static_cast<double>(axis.taps));
    }
  }
}

TEST(axis, a_window_is_a_part_of_the_whole) {
  for (const AxisSpec& spec : specs()) {
    if (spec.flip_in || spec.flip_out) continue;
    const AxisSpec whole_spec = {spec.in, spec.out, 0, spec.out, spec.interpolation, false, false};
    const Built part = build(spec), whole = build(whole_spec);
    // Compares sample by sample, because zeros may come before or after the weights.
    auto weights_of = [](const Axis& axis, int64_t i, int64_t origin, int64_t in) {
      std::vector<int32_t> weights(static_cast<size_t>(in));
      for (int64_t t = 0; t < axis.taps; ++t) weights[origin + axis.start[i] + t] = axis.weights[i * axis.taps + t];
      return weights;
    };
    for (int64_t i = 0; i < spec.count; i += 13) {
      ASSERT_EQ(weights_of(part.axis, i, input_range(spec).first, spec.in),
                weights_of(whole.axis, spec.first + i, input_range(whole_spec).first, spec.in));
    }
  }
}

TEST(axis, the_same_size_copies) {
  const Built built = build({9, 9, 0, 9, Interpolation::kBilinear, false, false});
  EXPECT_EQ(built.axis.taps, 1);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(built.axis.start[i], i);
    EXPECT_EQ(built.axis.weights[i], kWeightOne);
  }
}

}  // namespace
}  // namespace forebay
