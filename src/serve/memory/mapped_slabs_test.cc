// Tests a client's view of the server's memory. A server that has lost its mind must not make the
// client read outside of a slab.
#include "serve/memory/mapped_slabs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include <gtest/gtest.h>

#include "serve/memory/shared_blocks.h"

namespace forebay {
namespace {

TEST(MappedSlabs, tensors_lie_within_their_slab_or_are_refused) {
  SharedBlocks blocks;
  uint8_t* const block = blocks.allocate(1 << 20);
  const SharedBlocks::Location location = *blocks.find(block);
  MappedSlabs mapped;
  const FileDescriptor file(dup(location.slab->descriptor()));
  EXPECT_FALSE(mapped.add({1, location.slab->bytes() + 4096}, file).ok());
  ASSERT_TRUE(mapped.add({1, location.slab->bytes()}, file).ok());
  EXPECT_TRUE(mapped.tensor({1, 0, DType::kFloat32, {1024, 256}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({1, 64, DType::kFloat32, {1024, 256}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({2, 0, DType::kUint8, {1}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({1, UINT64_MAX, DType::kUint8, {1}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({1, 0, DType::kUint8, {-1}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({1, 0, DType::kUint8, {INT64_MAX, INT64_MAX}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({1, 0, DType::kUint8, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, nullptr).ok());
  EXPECT_TRUE(mapped.tensor({0, 0, DType::kUint8, {0, 3}}, nullptr).ok());
  EXPECT_FALSE(mapped.tensor({0, 0, DType::kUint8, {2}}, nullptr).ok());
}

TEST(MappedSlabs, a_tensor_outlives_its_slab) {
  MappedSlabs mapped;
  Tensor kept;
  {
    SharedBlocks blocks;
    uint8_t* const block = blocks.allocate(1 << 20);
    block[7] = 42;
    const SharedBlocks::Location location = *blocks.find(block);
    ASSERT_TRUE(mapped.add({1, location.slab->bytes()}, FileDescriptor(dup(location.slab->descriptor()))).ok());
    kept = *mapped.tensor({1, 0, DType::kUint8, {100}}, nullptr);
    blocks.free(block, 1 << 20);
  }
  mapped.drop(1);
  EXPECT_EQ(kept.data<uint8_t>()[7], 42);
}

/// A mapped slab of two pages, and the place of tensors in it.
class OneSlab {
 public:
  static constexpr uint64_t kBytes = 8192;
  OneSlab() : slab_(*Slab::make(5, kBytes)) {
    EXPECT_TRUE(mapped.add({5, kBytes}, FileDescriptor(dup(slab_->descriptor()))).ok());
  }
  Status at(uint64_t offset, std::vector<int64_t> shape, DType dtype = DType::kUint8) const {
    return mapped.tensor({5, offset, dtype, std::move(shape)}, nullptr).status();
  }
  MappedSlabs mapped;

 private:
  std::shared_ptr<Slab> slab_;
};

TEST(MappedSlabs, a_tensor_may_end_with_its_slab_and_not_a_byte_later) {
  const OneSlab slab;
  EXPECT_TRUE(slab.at(0, {8192}).ok());
  EXPECT_TRUE(slab.at(8191, {1}).ok());
  EXPECT_TRUE(slab.at(8192, {0}).ok());
  EXPECT_EQ(slab.at(0, {8193}).code(), Code::kCorrupt);
  EXPECT_EQ(slab.at(8192, {1}).code(), Code::kCorrupt);
  EXPECT_EQ(slab.at(8193, {0}).code(), Code::kCorrupt);
  EXPECT_EQ(slab.at(0, {1025}, DType::kFloat64).code(), Code::kCorrupt);
}

TEST(MappedSlabs, sizes_that_overflow_are_refused) {
  const OneSlab slab;
  constexpr int64_t kHalf = int64_t{1} << 32;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {kHalf, kHalf}, {kHalf, kHalf, 0}, {INT64_MAX, 2}, {-1}, {-1, -1}, {0, -1}, {INT64_MIN}})
    EXPECT_EQ(slab.at(0, shape).code(), Code::kCorrupt) << shape[0];
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 8191, uint64_t{1} << 63})
    EXPECT_EQ(slab.at(offset, {8192}).code(), Code::kCorrupt);
}

TEST(MappedSlabs, a_shape_of_too_many_dimensions_is_refused_even_if_it_is_empty) {
  const OneSlab slab;
  EXPECT_TRUE(slab.at(0, std::vector<int64_t>(Shape::kMaxRank, 1)).ok());
  EXPECT_EQ(slab.at(0, std::vector<int64_t>(Shape::kMaxRank + 1, 1)).code(), Code::kCorrupt);
  EXPECT_EQ(slab.at(0, std::vector<int64_t>(Shape::kMaxRank + 1, 0)).code(), Code::kCorrupt);
}

TEST(MappedSlabs, a_file_of_another_length_is_refused) {
  MappedSlabs mapped;
  const FileDescriptor file(memfd_create("t", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4097}, UINT64_MAX})
    EXPECT_EQ(mapped.add({1, bytes}, file).code(), Code::kCorrupt) << bytes;
  EXPECT_TRUE(mapped.add({1, 4096}, file).ok());
}

TEST(MappedSlabs, an_invalid_descriptor_is_refused) {
  MappedSlabs mapped;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  EXPECT_FALSE(mapped.add({1, 4096}, read_end).ok());
  EXPECT_FALSE(mapped.add({1, 4096}, FileDescriptor()).ok());
  EXPECT_FALSE(mapped.add({1, 4096}, FileDescriptor(open("/tmp", O_RDONLY | O_CLOEXEC))).ok());
  EXPECT_EQ(mapped.tensor({1, 0, DType::kUint8, {1}}, nullptr).status().code(), Code::kCorrupt);
}

TEST(MappedSlabs, a_number_that_comes_again_is_another_slab) {
  MappedSlabs mapped;
  const std::shared_ptr<Slab> a = *Slab::make(1, 4096), b = *Slab::make(1, 8192);
  a->data()[0] = 1;
  b->data()[0] = 2;
  ASSERT_TRUE(mapped.add({1, 4096}, FileDescriptor(dup(a->descriptor()))).ok());
  const Tensor of_a = *mapped.tensor({1, 0, DType::kUint8, {1}}, nullptr);
  ASSERT_TRUE(mapped.add({1, 8192}, FileDescriptor(dup(b->descriptor()))).ok());
  EXPECT_EQ(mapped.tensor({1, 0, DType::kUint8, {1}}, nullptr)->data<uint8_t>()[0], 2);
  EXPECT_EQ(of_a.data<uint8_t>()[0], 1) << "tensors of the first one stay what they are";
}

TEST(MappedSlabs, a_dropped_slab_is_unknown_and_another_one_can_be_dropped_twice) {
  OneSlab slab;
  slab.mapped.drop(4);
  EXPECT_TRUE(slab.at(0, {1}).ok());
  slab.mapped.drop(5);
  slab.mapped.drop(5);
  EXPECT_EQ(slab.at(0, {1}).code(), Code::kCorrupt);
}

TEST(MappedSlabs, a_tensor_keeps_what_it_was_given_until_its_last_copy_goes) {
  const OneSlab slab;
  auto held = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = held;
  auto tensor = std::make_unique<Tensor>(*slab.mapped.tensor({5, 0, DType::kUint8, {1}}, held));
  held.reset();
  auto copy = std::make_unique<Tensor>(*tensor);
  tensor.reset();
  EXPECT_FALSE(watch.expired());
  copy.reset();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace forebay
