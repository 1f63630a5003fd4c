#include "serve/memory/shared_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

TEST(SharedBlocks, a_descriptor_allows_reading_only) {
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

TEST(SharedBlocks, every_block_is_aligned_and_its_own) {
  SharedBlocks blocks;
  std::vector<std::pair<uint8_t*, size_t>> all;
  for (size_t i = 0; i < 500; ++i) {
    const size_t bytes = i * 7919 % 40'000;
    all.emplace_back(blocks.allocate(bytes), bytes);
    ASSERT_NE(all.back().first, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(all.back().first) % 64, 0U);
    std::memset(all.back().first, static_cast<int>(i), bytes);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < all[i].second; ++k) ASSERT_EQ(all[i].first[k], static_cast<uint8_t>(i)) << i;
  }
  for (const auto& [block, bytes] : all) blocks.free(block, bytes);
  EXPECT_EQ(blocks.bytes(), 0U);
}

TEST(SharedBlocks, a_block_of_no_bytes_is_one) {
  SharedBlocks blocks;
  uint8_t* const none = blocks.allocate(0);
  uint8_t* const other = blocks.allocate(0);
  ASSERT_NE(none, nullptr);
  EXPECT_NE(none, other);
  blocks.free(none, 0);
  blocks.free(other, 0);
  EXPECT_EQ(blocks.bytes(), 0U);
}

TEST(SharedBlocks, more_memory_than_there_is_is_none_and_the_next_block_is_there) {
  SharedBlocks blocks;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, size_t{1} << 62}) EXPECT_EQ(blocks.allocate(bytes), nullptr);
  EXPECT_EQ(blocks.bytes(), 0U);
  uint8_t* const block = blocks.allocate(100);
  EXPECT_NE(block, nullptr);
  blocks.free(block, 100);
}

TEST(SharedBlocks, without_a_descriptor_there_is_no_block_and_nothing_is_lost) {
  SharedBlocks blocks;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  uint8_t* const small = blocks.allocate(100);
  uint8_t* const large = blocks.allocate(SharedBlocks::kOwnSlab);
  const Status status = Slab::make(1, 4096).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(small, nullptr);
  EXPECT_EQ(large, nullptr);
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_EQ(status.bytes_needed(), 4096U);
  EXPECT_EQ(blocks.bytes(), 0U);
  uint8_t* const block = blocks.allocate(100);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(blocks.find(block)->slab->number(), 1U) << "numbers were not used up";
  blocks.free(block, 100);
}

TEST(SharedBlocks, a_large_slab_is_used_again_for_a_block_of_about_its_size) {
  SharedBlocks blocks;
  constexpr size_t kBytes = 8 << 20;
  uint8_t* const other = blocks.allocate(4 * kBytes);  // allows an idle slab
  uint8_t* const first = blocks.allocate(kBytes);
  const uint64_t number = blocks.find(first)->slab->number();
  const auto used_again = [&](size_t bytes) {
    uint8_t* const block = blocks.allocate(bytes);
    const bool same = blocks.find(block)->slab->number() == number;
    blocks.free(block, bytes);
    return same;
  };
  blocks.free(first, kBytes);
  EXPECT_FALSE(blocks.find(first)) << "an idle slab has no block";
  EXPECT_EQ(blocks.bytes(), 5 * kBytes) << "it is retained";
  EXPECT_TRUE(used_again(kBytes));
  EXPECT_TRUE(used_again(kBytes - kBytes / 8));
  EXPECT_FALSE(used_again(kBytes + 4096)) << "it would not fit";
  EXPECT_FALSE(used_again(kBytes / 2)) << "too much would be unused";
  blocks.free(other, 4 * kBytes);
  EXPECT_EQ(blocks.bytes(), 0U);
}

TEST(SharedBlocks, idle_slabs_take_at_most_a_third_of_the_bytes_in_use) {
  SharedBlocks blocks;
  constexpr size_t kBytes = 2 << 20;
  std::vector<uint8_t*> all;
  for (int i = 0; i < 16; ++i) all.push_back(blocks.allocate(kBytes));
  for (size_t freed = 1; freed <= all.size(); ++freed) {
    blocks.free(all[freed - 1], kBytes);
    const size_t in_use = (all.size() - freed) * kBytes;
    EXPECT_GE(blocks.bytes(), in_use);
    EXPECT_LE(blocks.bytes(), in_use + in_use / 3);
  }
}

TEST(SharedBlocks, an_address_of_somebody_else_is_in_no_slab) {
  SharedBlocks blocks;
  EXPECT_FALSE(blocks.find(nullptr));
  uint8_t* const block = blocks.allocate(100);
  uint8_t mine = 0;
  EXPECT_FALSE(blocks.find(&mine));
  EXPECT_FALSE(blocks.find(nullptr));
  const SharedBlocks::Location found = *blocks.find(block + 99);
  EXPECT_EQ(found.slab->data() + found.offset, block + 99);
  EXPECT_FALSE(blocks.find(found.slab->data() + found.slab->bytes()));
  blocks.free(&mine, 1);
  EXPECT_TRUE(blocks.find(block));
  blocks.free(block, 100);
}

TEST(SharedBlocks, a_slab_that_a_client_still_reads_is_not_unmapped_with_its_last_block) {
  SharedBlocks blocks;
  uint8_t* const block = blocks.allocate(100);
  const std::shared_ptr<const Slab> reader = blocks.find(block)->slab;
  std::memcpy(block, "still here", 10);
  blocks.free(block, 100);
  EXPECT_EQ(blocks.bytes(), 0U);
  EXPECT_EQ(std::memcmp(reader->data(), "still here", 10), 0);
}

TEST(SharedBlocks, threads_get_blocks_of_their_own) {
  SharedBlocks blocks;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&blocks, t] {
      for (int round = 0; round < 200; ++round) {
        const size_t bytes = static_cast<size_t>(round % 5 == 0 ? (1 << 20) : 1000 + round);
        uint8_t* const block = blocks.allocate(bytes);
        ASSERT_NE(block, nullptr);
        block[0] = block[bytes - 1] = static_cast<uint8_t>(t);
        ASSERT_TRUE(blocks.find(block));
        ASSERT_EQ(block[0] + block[bytes - 1], 2 * t);
        blocks.free(block, bytes);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(blocks.bytes(), 0U);
}

}  // namespace
}  // namespace forebay
