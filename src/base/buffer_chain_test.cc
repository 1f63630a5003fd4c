#include "base/buffer_chain.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace forebay {
namespace {

Buffer buffer_of(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::copy(text.begin(), text.end(), buffer.data());
  return buffer;
}

std::string text_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

TEST(BufferChain, EveryPartOfItIsWhatTheJoinedBytesHaveThere) {
  const std::string all = "abcdefghijkl";
  BufferChain chain;
  for (const auto& [begin, length] : {std::pair{0, 3}, {3, 0}, {3, 1}, {4, 5}, {9, 3}})
    chain.add(buffer_of(all.substr(begin, length)));
  EXPECT_EQ(chain.pieces().size(), 4U) << "what is empty is no piece";
  ASSERT_EQ(chain.size(), all.size());
  for (size_t begin = 0; begin <= all.size(); ++begin)
    for (size_t length = 0; begin + length <= all.size(); ++length) {
      const std::string part = all.substr(begin, length);
      EXPECT_EQ(text_of(chain.together(begin, length)), part);
      EXPECT_EQ(chain.hash(begin, length), hash128(part)) << begin << " " << length;
    }
  EXPECT_EQ(chain.hash(), hash128(all));
}

// Sizes above the lengths at which xxh3 changes its algorithm.
TEST(BufferChain, ItsHashIsThatOfTheBytesHoweverTheyAreDivided) {
  EXPECT_EQ(BufferChain().hash(), hash128(""));
  for (const size_t size : {17u, 129u, 241u, 1025u, 70'000u}) {
    std::string all(size, ' ');
    for (size_t i = 0; i < size; ++i) all[i] = static_cast<char>(i * 7919 >> 3);
    const BufferChain one(buffer_of(all));
    EXPECT_EQ(one.hash(), hash128(all)) << size;
    EXPECT_EQ(one.hash(5, size - 7), hash128(all.substr(5, size - 7))) << size;
    BufferChain two(buffer_of(all.substr(0, size / 3)));
    two.add(buffer_of(all.substr(size / 3)));
    EXPECT_EQ(two.hash(), one.hash()) << size;
    EXPECT_EQ(two.hash(size / 2, size / 4), one.hash(size / 2, size / 4)) << size;
  }
}

TEST(BufferChain, WhatLiesTogetherIsNotCopied) {
  const Buffer one = buffer_of("abc"), two = buffer_of("defg");
  BufferChain chain(one);
  EXPECT_EQ(chain.together().data(), one.data());
  chain.add(two);
  EXPECT_EQ(chain.together(4, 2).data(), two.data() + 1);
  EXPECT_TRUE(BufferChain().empty());
  EXPECT_TRUE(BufferChain().together().empty());
}

}  // namespace
}  // namespace forebay
