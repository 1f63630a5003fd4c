#include "ops/image/gather.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace forebay {
namespace {

using Indices = std::vector<int64_t>;

Indices filled(const AxisSpec& spec, int64_t source_first, int64_t margin, size_t length) {
  Indices indices(length, 99);
  fill_indices(spec, source_first, margin, indices);
  return indices;
}

TEST(fill_indices, counts_from_where_the_source_begins_with_minus_one_around) {
  EXPECT_EQ(filled({4, 4, 0, 4}, 10, 0, 4), (Indices{10, 11, 12, 13}));
  EXPECT_EQ(filled({4, 4, 1, 2}, 10, 2, 6), (Indices{-1, -1, 11, 12, -1, -1}));
  EXPECT_EQ(filled({4, 4, 0, 4, Interpolation::kNearest, false, true}, 0, 1, 5), (Indices{-1, 3, 2, 1, 0}));
  EXPECT_EQ(filled({2, 6, 0, 6, Interpolation::kNearest}, 5, 0, 6), (Indices{5, 5, 5, 6, 6, 6}));
  EXPECT_EQ(filled({6, 2, 0, 2, Interpolation::kNearest}, 0, 0, 2), (Indices{1, 4}));
}

Tensor numbered(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::allocate(dtype, shape);
  for (size_t i = 0; i < tensor.nbytes(); ++i) tensor.buffer.data()[i] = static_cast<uint8_t>(1 + i * 7 % 251);
  return tensor;
}

struct Wanted {
  Indices rows, columns;
  bool channels_first;
};

// Copies each element separately, by its location.
std::vector<uint8_t> one_by_one(const TensorPixels& from, const Wanted& wanted) {
  const size_t item = dtype_size(from.tensor.dtype);
  const auto height = static_cast<int64_t>(wanted.rows.size()), width = static_cast<int64_t>(wanted.columns.size());
  std::vector<uint8_t> out(static_cast<size_t>(height * width * from.channels()) * item);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < from.channels(); ++c) {
        if (wanted.rows[y] < 0 || wanted.columns[x] < 0) continue;
        const int64_t source = from.channels_first
                                   ? (c * from.height() + wanted.rows[y]) * from.width() + wanted.columns[x]
                                   : (wanted.rows[y] * from.width() + wanted.columns[x]) * from.channels() + c;
        const int64_t place =
            wanted.channels_first ? (c * height + y) * width + x : (y * width + x) * from.channels() + c;
        std::memcpy(&out[static_cast<size_t>(place) * item],
                    from.tensor.buffer.data() + static_cast<size_t>(source) * item, item);
      }
    }
  }
  return out;
}

class GatherOf : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GatherOf,
                         testing::Values(DType::kUint8, DType::kFloat16, DType::kFloat32, DType::kInt64),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

TEST_P(GatherOf, any_rows_and_columns_are_those_elements_with_zeros_for_the_missing) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t height = pick(1, 6), width = pick(1, 6), channels = pick(1, 4);
    const bool planar = trial % 2 == 0;
    const TensorPixels from = {
        numbered(GetParam(), planar ? Shape{channels, height, width} : Shape{height, width, channels}), planar};
    Wanted wanted{{}, {}, trial % 3 == 0};
    for (int64_t i = pick(1, 8); i > 0; --i) wanted.rows.push_back(pick(-1, height - 1));
    for (int64_t i = pick(1, 8); i > 0; --i) wanted.columns.push_back(pick(-1, width - 1));
    const std::vector<uint8_t> expected = one_by_one(from, wanted);
    std::vector<uint8_t> made(expected.size(), 0xee);
    gather_elements(from, wanted.rows, wanted.columns, wanted.channels_first, made.data());
    ASSERT_EQ(made, expected) << "trial " << trial;
  }
}

TEST_P(GatherOf, a_picture_without_an_axis_for_channels_has_one) {
  const TensorPixels from = {numbered(GetParam(), {3, 4}), false};
  ASSERT_EQ(from.channels(), 1);
  const Wanted wanted{{2, -1, 0}, {3, 1}, true};
  const std::vector<uint8_t> expected = one_by_one(from, wanted);
  std::vector<uint8_t> made(expected.size());
  gather_elements(from, wanted.rows, wanted.columns, true, made.data());
  EXPECT_EQ(made, expected);
}

}  // namespace
}  // namespace forebay
