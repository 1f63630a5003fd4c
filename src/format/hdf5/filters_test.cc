#include "format/hdf5/filters.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace forebay {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes some_bytes(size_t count) {
  std::mt19937 random(5);
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i % 7 == 0 ? random() : i / 16);
  return bytes;
}

Bytes deflated(const Bytes& bytes) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(6);
  Bytes out(libdeflate_zlib_compress_bound(compressor, bytes.size()));
  out.resize(libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

Bytes shuffled(const Bytes& bytes, size_t element) {
  Bytes out = bytes;
  const size_t count = bytes.size() / element;
  for (size_t i = 0; i < count * element; ++i) out[i % element * count + i / element] = bytes[i];
  return out;
}

Bytes with_sum(Bytes bytes) {
  const uint32_t sum = hdf5_fletcher32(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(sum >> (8 * i)));
  return bytes;
}

Result<Bytes> undone(const std::vector<Hdf5Filter>& filters, const Bytes& stored, uint64_t bytes,
                     uint32_t filter_mask = 0) {
  Hdf5Filtering filtering;
  WorkMemory memory;
  FOREBAY_ASSIGN(const std::span<const uint8_t> out, filtering.undo(filters, filter_mask, stored, bytes, memory));
  return Bytes(out.begin(), out.end());
}

const Hdf5Filter kInflate{Hdf5Filter::kDeflate, {}, {6}}, kSum{Hdf5Filter::kFletcher32, {}, {}};

TEST(hdf5_filters, shuffle_puts_bytes_back_whatever_the_width) {
  for (const size_t element : {1, 2, 3, 4, 5, 8, 12, 16, 100}) {
    for (const size_t extra : {size_t{0}, element - 1}) {
      const Bytes bytes = some_bytes(element * 1037 + extra);
      Bytes out(bytes.size());
      hdf5_unshuffle(shuffled(bytes, element), element, out.data());
      EXPECT_EQ(out, bytes) << element;
    }
  }
}

TEST(hdf5_filters, are_undone_from_the_last_to_the_first) {
  const Bytes bytes = some_bytes(4096);
  const Hdf5Filter shuffle{Hdf5Filter::kShuffle, {}, {4}};
  const auto same = [&](const Result<Bytes>& result) { return result.ok() && *result == bytes; };
  EXPECT_TRUE(same(undone({}, bytes, 4096)));
  EXPECT_TRUE(same(undone({shuffle, kInflate}, deflated(shuffled(bytes, 4)), 4096)));
  EXPECT_TRUE(same(undone({shuffle, kInflate, kSum}, with_sum(deflated(shuffled(bytes, 4))), 4096)));
  EXPECT_TRUE(same(undone({kSum, shuffle, kInflate}, deflated(shuffled(with_sum(bytes), 4)), 4096)));
  EXPECT_TRUE(same(undone({kInflate, kInflate}, deflated(deflated(bytes)), 4096)) ||
              undone({kInflate, kInflate}, deflated(deflated(bytes)), 4096).status().code() == Code::kCorrupt);
}

TEST(hdf5_filters, in_any_order_and_where_some_change_nothing) {
  const Bytes bytes = some_bytes(4096);
  std::vector<Hdf5Filter> filters = {{Hdf5Filter::kShuffle, {}, {4}}, kInflate, kSum, {Hdf5Filter::kShuffle, {}, {1}}};
  std::vector<size_t> order(filters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    Bytes stored = bytes;
    std::vector<Hdf5Filter> used;
    for (const size_t i : order) {
      used.push_back(filters[i]);
      if (i == 0) stored = shuffled(stored, 4);
      if (i == 1) stored = deflated(stored);
      if (i == 2) stored = with_sum(stored);
    }
    const Result<Bytes> got = undone(used, stored, bytes.size());
    ASSERT_TRUE(got.ok()) << got.status().message() << order[0] << order[1] << order[2] << order[3];
    EXPECT_EQ(*got, bytes) << order[0] << order[1] << order[2] << order[3];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(hdf5_filters, one_that_a_chunk_did_not_go_through_is_left_out) {
  const Bytes bytes = some_bytes(4096);
  const Hdf5Filter shuffle{Hdf5Filter::kShuffle, {}, {4}};
  const Result<Bytes> result = undone({shuffle, kInflate}, shuffled(bytes, 4), 4096, 0b10);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, bytes);
  EXPECT_EQ(*undone({shuffle, kInflate}, bytes, 4096, UINT32_MAX), bytes);
}

TEST(hdf5_filters, two_that_compress_are_refused_by_name) {
  const Hdf5Filter lzf{Hdf5Filter::kLzf, {}, {}}, shuffle{Hdf5Filter::kShuffle, {}, {4}};
  EXPECT_TRUE(check_hdf5_filters(std::vector{shuffle, kInflate, kSum}).ok());
  EXPECT_TRUE(check_hdf5_filters(std::vector{shuffle, lzf}).ok());
  const Status twice = check_hdf5_filters(std::vector{lzf, kInflate});
  EXPECT_EQ(twice.code(), Code::kUnsupported);
  EXPECT_NE(twice.message().find("more than once"), std::string::npos) << twice.message();
}

TEST(hdf5_filters, buffers_for_stored_bytes_that_are_too_many_are_reserved_too) {
  const std::vector<Hdf5Filter> shuffle = {{Hdf5Filter::kShuffle, {}, {4}}};
  const Bytes stored(100'000);
  Hdf5Filtering filtering;
  WorkMemory memory;
  EXPECT_EQ(filtering.undo(shuffle, 0, stored, 16, memory).status().code(), Code::kCorrupt);
  EXPECT_GE(memory.reserved(), stored.size());
  Hdf5Filtering other;
  WorkMemory small(1000);
  EXPECT_EQ(other.undo(shuffle, 0, stored, 16, small).status().code(), Code::kOutOfBudget);
}

TEST(hdf5_filters, any_flipped_bit_under_a_checksum_is_told) {
  const Bytes stored = with_sum(deflated(some_bytes(300)));
  for (size_t bit = 0; bit < stored.size() * 8; ++bit) {
    Bytes flipped = stored;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_EQ(undone({kInflate, kSum}, flipped, 300).status().code(), Code::kCorrupt) << bit;
  }
}

TEST(hdf5_filters, what_is_longer_or_shorter_than_it_should_be_is_corrupt) {
  const Bytes stored = deflated(some_bytes(1000));
  for (const uint64_t bytes : {0, 1, 999, 1001, 100'000})
    EXPECT_EQ(undone({kInflate}, stored, bytes).status().code(), Code::kCorrupt) << bytes;
  for (size_t length = 0; length < stored.size(); ++length)
    EXPECT_EQ(undone({kInflate}, Bytes(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length)), 1000)
                  .status()
                  .code(),
              Code::kCorrupt);
  EXPECT_EQ(undone({kSum}, {1, 2, 3}, 0).status().code(), Code::kCorrupt);
}

TEST(hdf5_filters, lzf_copies_what_it_wrote_and_never_reaches_outside) {
  Bytes out(12);
  // "abc", then a copy of nine bytes from distance three.
  EXPECT_TRUE(hdf5_lzf_decompress(Bytes{2, 'a', 'b', 'c', 0xe0, 0, 2}, out));
  EXPECT_EQ(std::string(out.begin(), out.end()), "abcabcabcabc");
  EXPECT_FALSE(hdf5_lzf_decompress(Bytes{2, 'a', 'b', 'c', 0xe0, 0, 3}, out)) << "before the beginning";
  EXPECT_FALSE(hdf5_lzf_decompress(Bytes{2, 'a', 'b', 'c', 0xe0, 1, 2}, out)) << "beyond the end";
  EXPECT_FALSE(hdf5_lzf_decompress(Bytes{2, 'a', 'b', 'c', 0xc0, 2}, out)) << "too short";
  for (const Bytes& cut :
       {Bytes{2, 'a', 'b'}, Bytes{2, 'a', 'b', 'c', 0xe0}, Bytes{2, 'a', 'b', 'c', 0xe0, 0}, Bytes{0x20}})
    EXPECT_FALSE(hdf5_lzf_decompress(cut, out));
}

TEST(hdf5_filters, the_checksum_adds_words_of_two_bytes) {
  EXPECT_EQ(hdf5_fletcher32(Bytes{}), 0u);
  EXPECT_EQ(hdf5_fletcher32(Bytes{0, 1}), 0x00010001u);
  EXPECT_EQ(hdf5_fletcher32(Bytes{0, 1, 0, 2}), 0x00040003u);
  EXPECT_EQ(hdf5_fletcher32(Bytes{0, 1, 2}), 0x02020201u) << "the last byte is an upper half";
}

}  // namespace
}  // namespace forebay
