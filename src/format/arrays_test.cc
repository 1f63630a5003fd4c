#include "format/arrays.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace forebay {

namespace {

template <typename T>
ArrayField field(std::string name, DType dtype, Shape shape, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  const auto* data = reinterpret_cast<const uint8_t*>(owner->data());
  return {std::move(name), {dtype, shape, data, owner, {}}, ""};
}

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

template <typename T>
std::vector<T> gathered(const Source& source, size_t f, const std::vector<int64_t>& ids) {
  const auto items = static_cast<size_t>(source.schema()[f].shape.elements());
  std::vector<T> out(ids.size() * items);
  EXPECT_TRUE(source.as_samples()->gathers(f));
  EXPECT_TRUE(source.as_samples()->gather(f, ids, reinterpret_cast<uint8_t*>(out.data())).ok());
  return out;
}

}  // namespace

TEST(Arrays, RowsAreSamplesAndAreNotCopied) {
  auto x = field<float>("x", DType::kFloat32, {4, 3}, counted(12));
  const uint8_t* const data = x.array.data;
  const auto source = open_arrays({x, field<int64_t>("y", DType::kInt64, {4}, {10, 11, 12, 13})}).value();
  EXPECT_EQ(source->size(), 4);
  EXPECT_EQ(source->schema()[0].to_string(), "x: float32 (3,)");
  EXPECT_EQ(source->schema()[1].to_string(), "y: int64 ()");
  EXPECT_EQ(source->index_bytes(), 0u);
  EXPECT_EQ(source->as_samples()->fetch(0).store, nullptr);
  Record record;
  ASSERT_TRUE(source->as_samples()->load(2, {}, record).ok());
  EXPECT_EQ(record[0].tensor.buffer.data(), data + 2 * 12);
  EXPECT_EQ(record[0].tensor.data<float>()[1], 7.0F);
  EXPECT_EQ(*record[1].tensor.data<int64_t>(), 12);
}

TEST(Arrays, GatherCopiesRows) {
  const std::vector<int64_t> ids = {3, 0, 0, 2, 1, 3, 2, 1, 0, 3, 3};
  for (const int64_t width : {1, 2, 3, 4, 5, 16, 1000}) {
    const auto source =
        open_arrays({field<float>("x", DType::kFloat32, {4, width}, counted(static_cast<size_t>(4 * width)))}).value();
    const auto got = gathered<float>(*source, 0, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      for (int64_t k = 0; k < width; ++k) {
        ASSERT_EQ(got[i * static_cast<size_t>(width) + static_cast<size_t>(k)], static_cast<float>(ids[i] * width + k));
      }
    }
  }
}

TEST(Arrays, StridedArraysGiveWhatNumPyWould) {
  const auto whole = field<float>("x", DType::kFloat32, {4, 2, 3}, counted(24));
  ArrayField every_second = whole;  // x[::2]
  every_second.array.shape = {2, 2, 3};
  every_second.array.strides = {48, 12, 4};
  ArrayField backwards = whole;  // x[::-1]
  backwards.array.data += 3 * 24;
  backwards.array.strides = {-24, 12, 4};
  ArrayField transposed = whole;  // x.transpose(0, 2, 1)
  transposed.array.shape = {4, 3, 2};
  transposed.array.strides = {24, 4, 12};
  ArrayField repeated = whole;  // np.broadcast_to(x[0], (5, 2, 3))
  repeated.array.shape = {5, 2, 3};
  repeated.array.strides = {0, 12, 4};
  EXPECT_EQ(gathered<float>(*open_arrays({every_second}).value(), 0, {1}),
            (std::vector<float>{12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(gathered<float>(*open_arrays({backwards}).value(), 0, {0}), (std::vector<float>{18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(gathered<float>(*open_arrays({repeated}).value(), 0, {4}), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const auto source = open_arrays({transposed}).value();
  EXPECT_EQ(gathered<float>(*source, 0, {1}), (std::vector<float>{6, 9, 7, 10, 8, 11}));
  Record record;
  ASSERT_TRUE(source->as_samples()->load(1, {}, record).ok());
  EXPECT_EQ(record[0].tensor.data<float>()[1], 9.0F);
}

TEST(Arrays, MistakesAreNamed) {
  const auto code_and_text = [](std::vector<ArrayField> fields, const char* text) {
    const Status status = open_arrays(std::move(fields)).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  code_and_text({}, "at least one array");
  code_and_text(
      {field<float>("x", DType::kFloat32, {4}, counted(4)), field<float>("y", DType::kFloat32, {3}, counted(3))},
      "x: 4, y: 3");
  code_and_text({field<float>("x", DType::kFloat32, {}, counted(1))}, "'x' is a single number");
  code_and_text(
      {field<float>("x", DType::kFloat32, {1}, counted(1)), field<float>("x", DType::kFloat32, {1}, counted(1))},
      "two arrays are called 'x'");
}

TEST(Arrays, TheVersionFollowsNamesTypesShapesAndContent) {
  const auto version = [](std::string name, DType dtype, Shape shape, std::vector<float> values) {
    return open_arrays({field<float>(std::move(name), dtype, shape, std::move(values))}).value()->version();
  };
  const Hash128 base = version("x", DType::kFloat32, {4, 3}, counted(12));
  EXPECT_EQ(base, version("x", DType::kFloat32, {4, 3}, counted(12)));
  EXPECT_FALSE(base == version("z", DType::kFloat32, {4, 3}, counted(12)));
  EXPECT_FALSE(base == version("x", DType::kInt32, {4, 3}, counted(12)));
  EXPECT_FALSE(base == version("x", DType::kFloat32, {3, 4}, counted(12)));
  auto changed = counted(12);
  changed[11] = 0;
  EXPECT_FALSE(base == version("x", DType::kFloat32, {4, 3}, changed));
}

TEST(Arrays, AStridedViewHasTheVersionOfItsCopy) {
  ArrayField transposed = field<float>("x", DType::kFloat32, {2, 3}, counted(6));
  transposed.array.shape = {3, 2};
  transposed.array.strides = {4, 12};
  const auto copy = field<float>("x", DType::kFloat32, {3, 2}, {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(open_arrays({transposed}).value()->version(), open_arrays({copy}).value()->version());
}

TEST(Arrays, ARowIsKnownByItsContent) {
  const auto opened = [](std::string name, DType dtype, Shape shape, std::vector<float> values) {
    return open_arrays({field<float>(std::move(name), dtype, shape, std::move(values))}).value();
  };
  const auto source = opened("x", DType::kFloat32, {3, 2}, {1, 2, 3, 4, 1, 2});
  ASSERT_TRUE(source->identity(0));
  EXPECT_EQ(source->identity(0), source->identity(2)) << "equal rows";
  EXPECT_NE(source->identity(0), source->identity(1));
  EXPECT_EQ(source->identity(1), opened("x", DType::kFloat32, {1, 2}, {3, 4})->identity(0)) << "wherever it stands";
  EXPECT_NE(source->identity(0), opened("y", DType::kFloat32, {1, 2}, {1, 2})->identity(0));
  EXPECT_NE(source->identity(0), opened("x", DType::kInt32, {1, 2}, {1, 2})->identity(0)) << "the same bytes";
  EXPECT_NE(source->identity(0), opened("x", DType::kFloat32, {1, 2, 1}, {1, 2})->identity(0));
  const auto two = open_arrays(
      {field<float>("x", DType::kFloat32, {2, 2}, {1, 2, 1, 2}), field<uint8_t>("z", DType::kUint8, {2}, {0, 1})});
  EXPECT_NE((*two)->identity(0), (*two)->identity(1)) << "all fields count";
  EXPECT_EQ(source->index_bytes(), 0u) << "hashing short rows again takes less than remembering them";
}

TEST(Arrays, HashesOfLongRowsAreRememberedAndCounted) {
  const auto source = open_arrays({field<float>("x", DType::kFloat32, {2, 100}, counted(200))}).value();
  const auto first = source->identity(0);
  EXPECT_EQ(source->identity(0), first);
  EXPECT_EQ(source->index_bytes(), 32u);
}

TEST(Arrays, AStridedRowHasTheIdentityOfItsCopy) {
  constexpr int64_t kRows = 2000;  // longer than one copy
  ArrayField transposed = field<float>("x", DType::kFloat32, {2, kRows}, counted(2 * kRows));
  transposed.array.strides = {sizeof(float), 2 * sizeof(float)};
  std::vector<float> copied;
  for (size_t column = 0; column < 2; ++column) {
    for (size_t i = 0; i < kRows; ++i) copied.push_back(static_cast<float>(2 * i + column));
  }
  const auto copy = open_arrays({field<float>("x", DType::kFloat32, {2, kRows}, copied)}).value();
  const auto strided = open_arrays({transposed}).value();
  for (const int64_t id : {0, 1}) EXPECT_EQ(strided->identity(id), copy->identity(id));
}

TEST(Arrays, EmptyArraysAreArrays) {
  EXPECT_EQ(open_arrays({field<float>("x", DType::kFloat32, {0, 3}, {})}).value()->size(), 0);
  const auto no_columns = open_arrays({field<float>("x", DType::kFloat32, {3, 0}, {})}).value();
  EXPECT_EQ(no_columns->size(), 3);
  EXPECT_TRUE(gathered<float>(*no_columns, 0, {0, 1, 2}).empty());
}

}  // namespace forebay
