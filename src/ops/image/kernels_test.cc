#include "ops/image/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ops/ops_test_support.h"

// Compares every instruction set with plain sums in 64 bits, on rows that end where their memory
// ends, except for the slack.

namespace forebay {
namespace {

constexpr uint8_t kCanary = 0xa5;

uint8_t rounded_byte(int64_t sum) {
  return static_cast<uint8_t>(std::clamp<int64_t>((sum + kWeightOne / 2) >> kWeightBits, 0, 255));
}

std::vector<uint8_t> random_bytes(std::mt19937& random, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Non-negative weights that sum to one; the first gets the remainder.
std::vector<int32_t> random_weights(std::mt19937& random, int64_t taps) {
  std::vector<int32_t> weights(static_cast<size_t>(taps));
  int32_t left = kWeightOne;
  for (size_t t = 1; t < weights.size(); ++t) {
    weights[t] = static_cast<int32_t>(random() % static_cast<uint32_t>(2 * kWeightOne / taps));
    weights[t] = std::min(weights[t], left);
    left -= weights[t];
  }
  weights[0] = left;
  return weights;
}

class KernelsOf : public testing::TestWithParam<SimdLevel> {
 protected:
  const ImageKernels& kernels = image_kernels(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, KernelsOf, testing::ValuesIn(simd_levels()),
                         [](const auto& param) { return std::string(simd_level_name(param.param)); });

TEST_P(KernelsOf, a_vertical_sum_is_rounded_once_for_any_taps_and_length) {
  std::mt19937 random(1);
  for (const int64_t taps : {1, 2, 3, 4, 5, 6, 7, 16, 33}) {
    for (const int64_t bytes : {1, 15, 16, 17, 63, 64, 65, 200}) {
      const std::vector<int32_t> weights = random_weights(random, taps);
      std::vector<std::vector<uint8_t>> memory;
      std::vector<const uint8_t*> rows;
      for (int64_t t = 0; t < taps; ++t) memory.push_back(random_bytes(random, bytes + kRowSlack));
      for (const auto& row : memory) rows.push_back(row.data());
      std::vector<uint8_t> out(static_cast<size_t>(bytes + kRowSlack));
      kernels.vertical(weights.data(), taps, rows.data(), bytes, out.data());
      for (int64_t i = 0; i < bytes; ++i) {
        int64_t sum = 0;
        for (int64_t t = 0; t < taps; ++t) sum += int64_t{weights[t]} * memory[t][i];
        ASSERT_EQ(int{out[i]}, int{rounded_byte(sum)}) << taps << " taps, byte " << i << " of " << bytes;
      }
    }
  }
}

// All rows may be black or all white, and the weights may sum to slightly more or less than one:
// the result must not wrap.
TEST_P(KernelsOf, a_vertical_sum_saturates_at_black_and_white) {
  for (const int64_t taps : {1, 2, 5, 40}) {
    std::vector<int32_t> weights(static_cast<size_t>(taps), kWeightOne / static_cast<int32_t>(taps));
    weights[0] += kWeightOne / 100;
    for (const uint8_t value : {uint8_t{0}, uint8_t{255}}) {
      const std::vector<uint8_t> row(64 + kRowSlack, value);
      const std::vector<const uint8_t*> rows(static_cast<size_t>(taps), row.data());
      std::vector<uint8_t> out(64 + kRowSlack, kCanary);
      kernels.vertical(weights.data(), taps, rows.data(), 64, out.data());
      EXPECT_EQ(std::count(out.begin(), out.begin() + 64, value), 64) << taps << " taps of " << int{value};
    }
  }
}

TEST_P(KernelsOf, a_horizontal_sum_is_that_of_the_axis_with_a_fourth_byte_of_zero) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const auto in = static_cast<int64_t>(1 + random() % 300), out = static_cast<int64_t>(1 + random() % 90);
    const int64_t first = static_cast<int64_t>(random() % static_cast<uint64_t>(out));
    const int64_t count = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(out - first));
    const AxisSpec spec = {in,
                           out,
                           first,
                           count,
                           trial % 3 == 0 ? Interpolation::kNearest : Interpolation::kBilinear,
                           trial % 2 == 0,
                           trial % 5 == 0};
    std::vector<uint64_t> axis_memory(Axis::bytes(spec) / 8 + 1);
    const Axis axis = Axis::build(spec, {reinterpret_cast<uint8_t*>(axis_memory.data()), Axis::bytes(spec)});
    WorkMemory memory;
    const HorizontalTaps taps = HorizontalTaps::build(axis, memory.scratch(0, HorizontalTaps::bytes(spec)));
    const std::vector<uint8_t> row = random_bytes(random, input_range(spec).count * 3 + kRowSlack);
    std::vector<uint8_t> made(static_cast<size_t>(taps.blocks * 16), kCanary);
    kernels.horizontal_rgb(taps, row.data(), made.data());
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < 3; ++c) {
        int64_t sum = 0;
        for (int64_t t = 0; t < axis.taps; ++t)
          sum += int64_t{axis.weights[i * axis.taps + t]} * row[(axis.start[i] + t) * 3 + c];
        ASSERT_EQ(int{made[i * 4 + c]}, int{rounded_byte(sum)}) << in << " to " << out << ", pixel " << i;
      }
      ASSERT_EQ(made[i * 4 + 3], 0) << in << " to " << out << ", pixel " << i;
    }
  }
}

TEST_P(KernelsOf, planes_of_floats_end_with_their_last_pixel) {
  std::mt19937 random(3);
  const float scale[3] = {0.017f, -2.5f, 1.0f / 255}, bias[3] = {-2.1f, 0, 7};
  for (int64_t width = 1; width < 70; ++width) {
    const std::vector<uint8_t> pixels = random_bytes(random, width * 4 + kRowSlack);
    constexpr float kUntouched = -12345.5f;
    std::vector<float> memory[3];
    float* planes[3];
    for (int c = 0; c < 3; ++c) {
      memory[c].assign(static_cast<size_t>(width) + 1, kUntouched);
      planes[c] = memory[c].data();
    }
    kernels.planar_float(pixels.data(), width, scale, bias, planes);
    for (int c = 0; c < 3; ++c) {
      for (int64_t x = 0; x < width; ++x)
        ASSERT_EQ(memory[c][x], static_cast<float>(pixels[4 * x + c]) * scale[c] + bias[c]) << width << " " << x;
      ASSERT_EQ(memory[c].back(), kUntouched) << width;
    }
  }
}

TEST_P(KernelsOf, packed_pixels_end_with_their_last_byte) {
  std::mt19937 random(4);
  for (int64_t width = 1; width < 70; ++width) {
    const std::vector<uint8_t> pixels = random_bytes(random, width * 4);
    std::vector<uint8_t> out(static_cast<size_t>(width * 3 + 1), kCanary);
    kernels.packed_rgb(pixels.data(), width, out.data());
    for (int64_t i = 0; i < width * 3; ++i) ASSERT_EQ(out[i], pixels[i / 3 * 4 + i % 3]) << width << " " << i;
    ASSERT_EQ(out.back(), kCanary) << width;
  }
}

TEST(horizontal_any, is_the_sum_of_the_axis_for_one_to_four_channels) {
  std::mt19937 random(5);
  const AxisSpec spec = {50, 17, 2, 11, Interpolation::kBilinear, false, true};
  std::vector<uint64_t> memory(Axis::bytes(spec) / 8 + 1);
  const Axis axis = Axis::build(spec, {reinterpret_cast<uint8_t*>(memory.data()), Axis::bytes(spec)});
  for (int64_t channels = 1; channels <= 4; ++channels) {
    const std::vector<uint8_t> row = random_bytes(random, input_range(spec).count * channels);
    const int64_t pitch = pixel_pitch(channels);
    std::vector<uint8_t> made(static_cast<size_t>(spec.count * pitch), kCanary);
    horizontal_any(axis, channels, row.data(), made.data());
    for (int64_t i = 0; i < spec.count; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        int64_t sum = 0;
        for (int64_t t = 0; t < axis.taps; ++t)
          sum += int64_t{axis.weights[i * axis.taps + t]} * row[(axis.start[i] + t) * channels + c];
        EXPECT_EQ(int{made[i * pitch + c]}, int{rounded_byte(sum)}) << channels << " channels, pixel " << i;
      }
    }
  }
}

}  // namespace
}  // namespace forebay
