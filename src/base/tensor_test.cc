#include "forebay/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <set>

// Tests shapes, element types and the memory of tensors.

namespace forebay {
namespace {

TEST(Shape, IsSpelledAsInPython) {
  EXPECT_EQ(Shape({}).to_string(), "()");
  EXPECT_EQ(Shape({3}).to_string(), "(3,)");
  EXPECT_EQ(Shape({3, 224, 1}).to_string(), "(3, 224, 1)");
  EXPECT_EQ(Shape({Shape::kUnknown, 3}).to_string(), "(?, 3)");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().elements(), 1) << "of a scalar";
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).elements(), 0);
  EXPECT_EQ(Shape({int64_t{1} << 40, 2}).elements(), int64_t{1} << 41);
  EXPECT_TRUE(Shape().fully_known());
  EXPECT_TRUE(Shape({0, 1}).fully_known());
  EXPECT_FALSE(Shape({4, Shape::kUnknown}).fully_known());
}

TEST(Shape, EqualsOfTheSameRankAlone) {
  Shape grown({2, 3});
  grown.push_back(1);
  EXPECT_EQ(grown, Shape({2, 3, 1}));
  EXPECT_FALSE(Shape({2, 3}) == grown);
  EXPECT_FALSE(Shape() == Shape({0}));
  grown[2] = 7;
  EXPECT_EQ(grown[2], 7);
  const int64_t dims[] = {5, 6};
  EXPECT_EQ(Shape(std::span<const int64_t>(dims)), Shape({5, 6}));
  EXPECT_EQ(Shape({1, 2, 3, 4, 5, 6, 7, 8}).rank(), Shape::kMaxRank);
}

TEST(DTypes, HaveNamesThatLeadBack) {
  std::set<std::string_view> names;
  for (const DType dtype :
       {DType::kBool, DType::kUint8, DType::kInt8, DType::kUint16, DType::kInt16, DType::kUint32, DType::kInt32,
        DType::kUint64, DType::kInt64, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    names.insert(dtype_name(dtype));
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype) << dtype_name(dtype);
  }
  EXPECT_EQ(names.size(), kDTypeCount);
  for (const char* unknown : {"", "float", "Float32", "int128", "float32 "})
    EXPECT_EQ(dtype_from_name(unknown), std::nullopt) << unknown;
}

TEST(DTypes, HaveTheSizesOfTheirNames) {
  EXPECT_EQ(dtype_size(DType::kBool), 1u);
  EXPECT_EQ(dtype_size(DType::kUint8), 1u);
  EXPECT_EQ(dtype_size(DType::kFloat16), 2u);
  EXPECT_EQ(dtype_size(DType::kInt16), 2u);
  EXPECT_EQ(dtype_size(DType::kFloat32), 4u);
  EXPECT_EQ(dtype_size(DType::kUint64), 8u);
}

TEST(Buffer, IsAlignedWhateverItsSize) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{63}, (size_t{4} << 20) - 1, size_t{4} << 20, (size_t{9} << 20) + 5}) {
    Buffer buffer = Buffer::allocate(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << size;
    if (size > 0) std::memset(buffer.data(), 1, size);
  }
  EXPECT_TRUE(Buffer().empty());
  EXPECT_EQ(Buffer().data(), nullptr);
}

TEST(Buffer, ThatNobodyHasThrows) { EXPECT_THROW((void)Buffer::allocate(size_t{1} << 60), std::bad_alloc); }

TEST(Buffer, LivesAsLongAsAnyPartOfIt) {
  bool freed = false;
  uint8_t bytes[4] = {1, 2, 3, 4};
  Buffer part;
  {
    const Buffer whole(bytes, sizeof bytes, std::shared_ptr<void>(bytes, [&](void*) { freed = true; }));
    part = whole.slice(1, 2);
    EXPECT_EQ(part.owner(), whole.owner());
  }
  EXPECT_FALSE(freed);
  EXPECT_EQ(part.size(), 2u);
  EXPECT_EQ(part.span()[1], 3);
  part.mutable_span()[0] = 9;
  EXPECT_EQ(bytes[1], 9) << "the same memory";
  part = Buffer();
  EXPECT_TRUE(freed);
}

TEST(Tensor, HasMemoryForItsElements) {
  Tensor tensor = Tensor::allocate(DType::kInt32, {2, 3});
  EXPECT_EQ(tensor.nbytes(), 24u);
  EXPECT_EQ(tensor.buffer.size(), 24u);
  for (int i = 0; i < 6; ++i) tensor.data<int32_t>()[i] = i;
  const Tensor same = tensor;
  EXPECT_EQ(same.data<int32_t>()[5], 5) << "copies share their memory";
  EXPECT_EQ(Tensor::allocate(DType::kFloat64, {0, 7}).nbytes(), 0u);
  EXPECT_EQ(Tensor::allocate(DType::kFloat64, {}).nbytes(), 8u);
}

}  // namespace
}  // namespace forebay
