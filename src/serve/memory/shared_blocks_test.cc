#include "serve/memory/shared_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "serve/memory/mapped_slabs.h"

namespace forebay {
namespace {

TEST(SharedBlocks, small_blocks_lie_in_one_slab_and_large_ones_in_their_own) {
  SharedBlocks blocks;
  uint8_t* const a = blocks.allocate(100);
  uint8_t* const b = blocks.allocate(5000);
  uint8_t* const large = blocks.allocate(SharedBlocks::kOwnSlab);
  EXPECT_EQ(blocks.find(a)->slab, blocks.find(b + 4999)->slab);
  EXPECT_NE(blocks.find(a)->slab, blocks.find(large)->slab);
  EXPECT_EQ(blocks.find(large)->offset, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 64, 0U);
  blocks.free(a, 100);
  blocks.free(b, 5000);
  blocks.free(large, SharedBlocks::kOwnSlab);
  EXPECT_EQ(blocks.bytes(), 0U);
  EXPECT_FALSE(blocks.find(a));
}

TEST(SharedBlocks, freed_parts_join_and_are_used_again) {
  SharedBlocks blocks;
  std::vector<uint8_t*> all;
  constexpr size_t kBlock = 256 * 1024;
  for (size_t i = 0; i < SharedBlocks::kSmallSlab / kBlock; ++i) all.push_back(blocks.allocate(kBlock));
  EXPECT_EQ(blocks.bytes(), SharedBlocks::kSmallSlab);
  for (const size_t i : {3, 1, 2}) blocks.free(all[i], kBlock);
  EXPECT_EQ(blocks.allocate(3 * kBlock), all[1]);
  EXPECT_EQ(blocks.bytes(), SharedBlocks::kSmallSlab);
}

TEST(SharedBlocks, whoever_has_the_descriptor_can_read_and_not_write) {
  SharedBlocks blocks;
  uint8_t* const block = blocks.allocate(2 << 20);
  std::memcpy(block, "theirs", 6);
  const int fd = blocks.find(block)->slab->descriptor();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(pwrite(fd, "mine", 4, 0), -1);
  EXPECT_EQ(ftruncate(fd, 0), -1);
  // Opening the file again for writing does not circumvent the seal.
  const FileDescriptor again(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR));
  if (again.valid()) {
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
    EXPECT_EQ(pwrite(again.get(), "mine", 4, 0), -1);
  }
  void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(mprotect(mapped, 4096, PROT_READ | PROT_WRITE), -1);
  std::memcpy(block, "others", 6);
  EXPECT_EQ(std::memcmp(mapped, "others", 6), 0);
  munmap(mapped, 4096);
  blocks.free(block, 2 << 20);
}

TEST(MappedSlabs, tensors_lie_within_their_slab_or_are_refused) {
  SharedBlocks blocks;
  uint8_t* const block = blocks.allocate(1 << 20);
  const SharedBlocks::Place place = *blocks.find(block);
  MappedSlabs mapped;
  const FileDescriptor file(dup(place.slab->descriptor()));
  EXPECT_FALSE(mapped.add({1, place.slab->bytes() + 4096}, file).ok());
  ASSERT_TRUE(mapped.add({1, place.slab->bytes()}, file).ok());
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
    const SharedBlocks::Place place = *blocks.find(block);
    ASSERT_TRUE(mapped.add({1, place.slab->bytes()}, FileDescriptor(dup(place.slab->descriptor()))).ok());
    kept = *mapped.tensor({1, 0, DType::kUint8, {100}}, nullptr);
    blocks.free(block, 1 << 20);
  }
  mapped.drop(1);
  EXPECT_EQ(kept.data<uint8_t>()[7], 42);
}

}  // namespace
}  // namespace forebay
