#include "base/blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace forebay {
namespace {

TEST(Blocks, OfAllSizesAreAlignedAndWritableToTheirEnd) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4097}, (size_t{1} << 20) - 1, size_t{1} << 20,
                             (size_t{2} << 20) - 1, size_t{2} << 20, (size_t{5} << 20) + 12345}) {
    uint8_t* block = allocate_block(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u) << bytes;
    std::memset(block, 1, bytes);
    free_block(block, bytes);
  }
}

TEST(Blocks, ThatAreLargeGoBackToTheSystem) {
  constexpr size_t kBytes = size_t{64} << 20;
  uint8_t* block = allocate_block(kBytes);
  unsigned char there = 0;
  EXPECT_EQ(::mincore(block, 4096, &there), 0);
  free_block(block, kBytes);
  EXPECT_EQ(::mincore(block, 4096, &there), -1) << "no such pages any more";
}

TEST(Blocks, ThatNobodyHasAreNull) {
  EXPECT_EQ(allocate_block(size_t{1} << 60), nullptr);
  EXPECT_EQ(allocate_block(SIZE_MAX), nullptr);
  EXPECT_EQ(allocate_block(SIZE_MAX - (size_t{1} << 20)), nullptr) << "with what alignment takes it is a small number";
}

}  // namespace
}  // namespace forebay
