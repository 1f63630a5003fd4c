#include "cache/compression.h"

#include <gtest/gtest.h>

#include <random>

#include "cache/cache_test_support.h"

// Tests packing and unpacking of blocks of stored entries.

namespace forebay {
namespace {

constexpr Compression kBoth[] = {Compression::kZstd, Compression::kLz4};

std::vector<uint8_t> noise(size_t size) {
  std::mt19937 draw(7);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(draw());
  return bytes;
}

/// Returns values whose upper bytes are alike.
std::vector<uint32_t> counted(size_t count) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(1'000'000 + i * 3);
  return values;
}

template <typename T>
Buffer packed_of(Compression how, const std::vector<T>& values) {
  return pack(how, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T), sizeof(T));
}

TEST(Compression, is_told_by_its_name) {
  EXPECT_EQ(compression_from_name(""), Compression::kNone);
  EXPECT_EQ(compression_from_name("zstd"), Compression::kZstd);
  EXPECT_EQ(compression_from_name("lz4"), Compression::kLz4);
  for (const char* unknown : {"ZSTD", "zstd ", "gzip", "none"})
    EXPECT_EQ(compression_from_name(unknown), std::nullopt) << unknown;
}

TEST(Compression, values_come_back_as_they_were) {
  const std::vector<uint32_t> values = counted(10'000);
  for (const Compression how : kBoth) {
    const Buffer packed = packed_of(how, values);
    ASSERT_FALSE(packed.empty());
    const Result<Buffer> again = unpack(how, packed.span(), values.size() * sizeof(uint32_t), sizeof(uint32_t));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(std::memcmp(again->data(), values.data(), again->size()), 0);
  }
}

TEST(Compression, what_is_left_of_the_last_element_comes_back_too) {
  std::vector<uint8_t> bytes(1001, 5);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i / 100);
  for (const size_t element : {1, 2, 3, 8, 16, 1001, 5000}) {
    for (const Compression how : kBoth) {
      const Buffer packed = pack(how, bytes.data(), bytes.size(), element);
      ASSERT_FALSE(packed.empty()) << element;
      const Result<Buffer> again = unpack(how, packed.span(), bytes.size(), element);
      ASSERT_TRUE(again.ok()) << element;
      EXPECT_EQ(std::memcmp(again->data(), bytes.data(), bytes.size()), 0) << element;
    }
  }
}

TEST(Compression, bytes_of_the_same_weight_lie_together) {
  const std::vector<uint32_t> values = counted(50'000);
  for (const Compression how : kBoth) {
    const Buffer shuffled = packed_of(how, values);
    const Buffer plain =
        pack(how, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(uint32_t), 1);
    ASSERT_FALSE(shuffled.empty());
    EXPECT_TRUE(plain.empty() || shuffled.size() < plain.size());
  }
}

TEST(Compression, what_gains_less_than_a_twentieth_is_not_packed) {
  EXPECT_TRUE(packed_of(Compression::kNone, counted(1000)).empty());
  for (const Compression how : kBoth) {
    EXPECT_TRUE(pack(how, nullptr, 0, 4).empty());
    const std::vector<uint8_t> bytes = noise(10'000);
    EXPECT_TRUE(pack(how, bytes.data(), bytes.size(), 1).empty());
    const std::vector<uint8_t> one = {9};
    EXPECT_TRUE(pack(how, one.data(), one.size(), 1).empty());
  }
}

TEST(Compression, damage_is_corrupt_and_nothing_else) {
  const std::vector<uint32_t> values = counted(1000);
  const uint64_t size = values.size() * sizeof(uint32_t);
  for (const Compression how : kBoth) {
    const Buffer packed = packed_of(how, values);
    const auto code_of = [&](std::span<const uint8_t> bytes, uint64_t unpacked) {
      return unpack(how, bytes, unpacked, sizeof(uint32_t)).status().code();
    };
    EXPECT_EQ(code_of(packed.span().first(packed.size() / 2), size), Code::kCorrupt);
    EXPECT_EQ(code_of({}, size), Code::kCorrupt);
    EXPECT_EQ(code_of(packed.span(), size - 1), Code::kCorrupt) << "longer than it should be";
    EXPECT_EQ(code_of(packed.span(), size + 1), Code::kCorrupt) << "shorter";
    EXPECT_EQ(code_of(noise(500), size), Code::kCorrupt);
    EXPECT_EQ(code_of(packed.span(), uint64_t{1} << 40), Code::kCorrupt) << "more than is ever packed at once";
    // Some flipped bits give other values of the same length, which the entry's checksum detects.
    // None may write past the end.
    for (size_t at = 0; at < packed.size(); ++at) {
      std::vector<uint8_t> flipped(packed.span().begin(), packed.span().end());
      flipped[at] ^= 0x41;
      const Result<Buffer> got = unpack(how, flipped, size, sizeof(uint32_t));
      if (got.ok()) {
        EXPECT_EQ(got->size(), size);
      } else {
        EXPECT_EQ(got.status().code(), Code::kCorrupt);
      }
    }
  }
  EXPECT_EQ(unpack(Compression::kNone, noise(10), 10, 1).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
