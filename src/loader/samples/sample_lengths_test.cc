#include "loader/samples/sample_lengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/convert.h"

namespace forebay {
namespace {

template <class T>
Tensor values_of(DType dtype, const std::vector<T>& values) {
  Tensor made = Tensor::allocate(dtype, Shape{std::ssize(values)});
  for (size_t i = 0; i < values.size(); ++i) made.data<T>()[i] = values[i];
  return made;
}

BatchField dense(Tensor values) {
  BatchField field;
  field.values = std::move(values);
  return field;
}

BatchField with_offsets(BatchField::Kind kind, const std::vector<int64_t>& offsets) {
  BatchField field;
  field.kind = kind;
  field.offsets = values_of(DType::kInt64, offsets);
  return field;
}

Batch batch_with(BatchField field, std::vector<int64_t> positions) {
  field.name = "n";
  Batch batch;
  batch.fields.push_back(std::move(field));
  for (const int64_t position : positions) batch.ids.push_back(100 + position);
  batch.positions = std::move(positions);
  return batch;
}

// The lengths of four samples, of which this batch has some.
std::vector<float> lengths_in(const Batch& batch) {
  std::vector<float> lengths(4, -1);
  EXPECT_TRUE(add_lengths(batch, lengths).ok());
  return lengths;
}

TEST(SampleLengthsTest, numbers_of_any_type_are_lengths) {
  using Floats = std::vector<float>;
  EXPECT_EQ(lengths_in(batch_with(dense(values_of<int32_t>(DType::kInt32, {7, 0})), {0, 2})), (Floats{7, -1, 1, -1}));
  EXPECT_EQ(lengths_in(batch_with(dense(values_of<uint8_t>(DType::kUint8, {255})), {3})), (Floats{-1, -1, -1, 255}));
  EXPECT_EQ(lengths_in(batch_with(dense(values_of<double>(DType::kFloat64, {0.5, 2})), {0, 1})),
            (Floats{0.5, 2, -1, -1}));
  EXPECT_EQ(lengths_in(batch_with(dense(values_of<float>(DType::kFloat32, {3.25F})), {0})), (Floats{3.25, -1, -1, -1}));
  EXPECT_EQ(lengths_in(batch_with(dense(values_of<uint16_t>(DType::kFloat16, {float_to_half(1.5F)})), {0})),
            (Floats{1.5, -1, -1, -1}));
}

TEST(SampleLengthsTest, rows_have_their_own_length) {
  using Floats = std::vector<float>;
  EXPECT_EQ(lengths_in(batch_with(with_offsets(BatchField::Kind::kRagged, {0, 3, 3, 8}), {0, 1, 2})),
            (Floats{3, 1, 5, -1}));
  EXPECT_EQ(lengths_in(batch_with(with_offsets(BatchField::Kind::kText, {0, 4}), {1})), (Floats{-1, 4, -1, -1}));
  BatchField same = dense(Tensor::allocate(DType::kFloat32, Shape{2, 6}));
  EXPECT_EQ(lengths_in(batch_with(same, {0, 1})), (Floats{6, 6, -1, -1}));
  same.lengths = {2, 6};
  EXPECT_EQ(lengths_in(batch_with(same, {0, 1})), (Floats{2, 6, -1, -1})) << "padding does not count";
}

TEST(SampleLengthsTest, large_numbers_are_rounded_up) {
  const int64_t large = (int64_t{1} << 24) + 1;
  const auto lengths = lengths_in(batch_with(dense(values_of<int64_t>(DType::kInt64, {large})), {0}));
  EXPECT_GE(static_cast<double>(lengths[0]), static_cast<double>(large));
  EXPECT_LE(lengths[0], static_cast<float>(large) * 1.000001F);
}

TEST(SampleLengthsTest, other_numbers_are_errors_of_their_sample) {
  std::vector<float> lengths(4);
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    const Status status =
        add_lengths(batch_with(dense(values_of<double>(DType::kFloat64, {1, wrong})), {2, 3}), lengths);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.sample(), 103);
  }
}

}  // namespace
}  // namespace forebay
