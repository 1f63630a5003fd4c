#include "ops/image/resampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ops/ops_test_support.h"

// Compares the pass row by row with the same two sums over whole pictures, each rounded to 8 bits.

namespace forebay {
namespace {

struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> bytes;

  Pixels(int64_t h, int64_t w, int64_t c) : height(h), width(w), channels(c), bytes(static_cast<size_t>(h * w * c)) {}
  uint8_t& at(int64_t y, int64_t x, int64_t c) { return bytes[static_cast<size_t>((y * width + x) * channels + c)]; }
  uint8_t at(int64_t y, int64_t x, int64_t c) const {
    return bytes[static_cast<size_t>((y * width + x) * channels + c)];
  }
};

struct BuiltAxis {
  std::vector<uint64_t> memory;
  Axis axis;

  explicit BuiltAxis(const AxisSpec& spec) : memory(Axis::bytes(spec) / 8 + 1) {
    axis = Axis::build(spec, {reinterpret_cast<uint8_t*>(memory.data()), Axis::bytes(spec)});
  }
};

uint8_t finished(int64_t sum) {
  return static_cast<uint8_t>(std::clamp<int64_t>((sum + kWeightOne / 2) >> kWeightBits, 0, 255));
}

Pixels across(const Pixels& from, const AxisSpec& spec) {
  const BuiltAxis built(spec);
  Pixels made(from.height, spec.count, from.channels);
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < spec.count; ++x) {
      for (int64_t c = 0; c < from.channels; ++c) {
        int64_t sum = 0;
        for (int64_t t = 0; t < built.axis.taps; ++t)
          sum += int64_t{built.axis.weights[x * built.axis.taps + t]} * from.at(y, built.axis.start[x] + t, c);
        made.at(y, x, c) = finished(sum);
      }
    }
  }
  return made;
}

Pixels down(const Pixels& from, const AxisSpec& spec) {
  const BuiltAxis built(spec);
  Pixels made(spec.count, from.width, from.channels);
  for (int64_t y = 0; y < spec.count; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      for (int64_t c = 0; c < from.channels; ++c) {
        int64_t sum = 0;
        for (int64_t t = 0; t < built.axis.taps; ++t)
          sum += int64_t{built.axis.weights[y * built.axis.taps + t]} * from.at(built.axis.start[y] + t, x, c);
        made.at(y, x, c) = finished(sum);
      }
    }
  }
  return made;
}

Pixels by_whole_pictures(const Pixels& from, const ResampleSpec& spec, int64_t height) {
  const Pixels inner = spec.vertical_first() ? across(down(from, spec.vertical), spec.horizontal)
                                             : down(across(from, spec.horizontal), spec.vertical);
  Pixels made(height, spec.width, from.channels);
  for (int64_t y = 0; y < inner.height; ++y)
    for (int64_t x = 0; x < inner.width; ++x)
      for (int64_t c = 0; c < from.channels; ++c) made.at(spec.top + y, spec.left + x, c) = inner.at(y, x, c);
  return made;
}

Pixels row_by_row(const Pixels& from, const ResampleSpec& spec, int64_t height, SimdLevel level) {
  Pixels made(height, spec.width, from.channels);
  const PixelFormat format = {.width = spec.width, .height = height, .channels = from.channels, .pointwise = {}};
  WorkMemory memory;
  RowWriter writer(format, image_kernels(level), made.bytes);
  Resampler resampler(spec, image_kernels(level), writer, memory, 0);
  for (int64_t y = 0; y < height; ++y) {
    if (y < spec.top || y >= spec.top + spec.vertical.count) writer.write(y, resampler.blank_row());
  }
  const auto row_bytes = static_cast<size_t>(from.width * from.channels);
  for (int64_t y = 0; y < from.height; ++y) {
    // Sinks may read past the end but must not use it.
    std::vector<uint8_t> row(row_bytes + 64, 0x77);
    std::copy_n(from.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(y) * row_bytes), row_bytes,
                row.begin());
    resampler.row(row.data());
  }
  return made;
}

AxisSpec random_axis(std::mt19937& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  AxisSpec spec;
  spec.in = pick(1, 60);
  spec.out = pick(0, 4) == 0 ? spec.in : pick(1, 60);
  spec.first = pick(0, spec.out - 1);
  spec.count = pick(1, spec.out - spec.first);
  spec.interpolation = pick(0, 3) == 0 ? Interpolation::kNearest : Interpolation::kBilinear;
  spec.flip_in = pick(0, 1) == 0;
  spec.flip_out = pick(0, 1) == 0;
  return spec;
}

TEST(resampler, gives_what_two_passes_over_whole_pictures_give) {
  std::mt19937 random(11);
  int vertical_first = 0;
  for (int trial = 0; trial < 400; ++trial) {
    ResampleSpec spec;
    spec.channels = 1 + trial % 4;
    spec.horizontal = random_axis(random);
    spec.vertical = random_axis(random);
    spec.vertical.flip_in = spec.vertical.flip_out = false;
    spec.left = static_cast<int64_t>(random() % 4);
    spec.top = static_cast<int64_t>(random() % 4);
    spec.width = spec.left + spec.horizontal.count + static_cast<int64_t>(random() % 4);
    const int64_t height = spec.top + spec.vertical.count + static_cast<int64_t>(random() % 4);
    vertical_first += spec.vertical_first() ? 1 : 0;
    Pixels from(input_range(spec.vertical).count, input_range(spec.horizontal).count, spec.channels);
    for (uint8_t& byte : from.bytes) byte = static_cast<uint8_t>(random());
    const Pixels expected = by_whole_pictures(from, spec, height);
    for (const SimdLevel level : simd_levels()) {
      ASSERT_EQ(row_by_row(from, spec, height, level).bytes, expected.bytes)
          << "trial " << trial << ", " << simd_level_name(level) << ": " << spec.horizontal.in << " × "
          << spec.vertical.in << " to " << spec.horizontal.out << " × " << spec.vertical.out;
    }
  }
  EXPECT_GT(vertical_first, 20) << "both orders of the passes are to be tried";
}

TEST(resampler, goes_down_first_where_the_height_shrinks_by_more_than_twice_what_the_width_does) {
  const auto first = [](int64_t width, int64_t to_width, int64_t height, int64_t to_height, Interpolation how) {
    ResampleSpec spec;
    spec.horizontal = {width, to_width, 0, to_width, how};
    spec.vertical = {height, to_height, 0, to_height, how};
    return spec.vertical_first();
  };
  EXPECT_TRUE(first(100, 90, 100, 79, Interpolation::kBilinear));
  EXPECT_FALSE(first(100, 90, 100, 80, Interpolation::kBilinear));
  EXPECT_TRUE(first(100, 200, 100, 99, Interpolation::kBilinear));
  EXPECT_FALSE(first(100, 200, 100, 100, Interpolation::kBilinear));
  EXPECT_FALSE(first(100, 90, 100, 10, Interpolation::kNearest)) << "what is only taken is not rounded";
}

// A result is written as soon as its last input row arrives, so no more rows than one result needs
// are held.
TEST(resampler, finishes_each_row_as_soon_as_the_rows_it_needs_have_come) {
  ResampleSpec spec;
  spec.horizontal = {8, 8, 0, 8};
  spec.vertical = {40, 10, 0, 10};
  spec.width = 8;
  const BuiltAxis axis(spec.vertical);
  std::vector<uint8_t> out(8 * 10 * 3, 0);
  const PixelFormat format = {.width = 8, .height = 10, .pointwise = {}};
  WorkMemory memory;
  RowWriter writer(format, image_kernels(simd_level()), out);
  Resampler resampler(spec, image_kernels(simd_level()), writer, memory, 0);
  const std::vector<uint8_t> white(8 * 3 + 64, 255);
  for (int64_t come = 1; come <= 40; ++come) {
    resampler.row(white.data());
    int64_t due = 0;
    while (due < 10 && axis.axis.start[due] + axis.axis.taps <= come) ++due;
    EXPECT_EQ(std::count(out.begin(), out.end(), 255), due * 24) << "after row " << come;
  }
}

TEST(resampler, keeps_a_few_rows_however_high_the_picture_is) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 200; ++trial) {
    ResampleSpec spec;
    spec.channels = 1 + trial % 4;
    spec.horizontal = random_axis(random);
    spec.vertical = random_axis(random);
    spec.width = spec.horizontal.count;
    // The need is a few rows and the tables of two axes, however high the picture is.
    ResampleSpec higher = spec;
    higher.vertical.in *= 50;
    higher.vertical.out *= 50;
    higher.vertical.first *= 50;
    const auto tables = Axis::bytes(higher.vertical) + 64 * static_cast<uint64_t>(max_taps(higher.vertical) + 1);
    EXPECT_LE(higher.working_bytes(), spec.working_bytes() + tables + 4096) << "trial " << trial;
  }
}

}  // namespace
}  // namespace forebay
