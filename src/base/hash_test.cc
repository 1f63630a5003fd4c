#include "base/hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/hash_kernels.h"

namespace forebay {
namespace {

TEST(Hash, is_xxh3_128_as_published) {
  EXPECT_EQ(hash128("").to_string(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128("abc").to_string(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, pieces_give_the_hash_of_the_whole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 31);
  const Hash128 whole = hash128(text);
  for (size_t piece : {1, 7, 64, 240, 4096}) {
    Hasher hasher;
    for (size_t at = 0; at < text.size(); at += piece) hasher.update(std::string_view(text).substr(at, piece));
    hasher.update("");
    EXPECT_EQ(hasher.digest(), whole) << piece;
    EXPECT_EQ(hasher.digest(), whole) << "asking changes nothing";
  }
}

// The library's own code is the reference. Unless its build says otherwise, it uses SSE2 at most.
// Only x86 has others.
[[maybe_unused]] void expect_same_as_the_library(const HashKernels& kernels) {
  std::vector<uint8_t> bytes(300'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 11);
  std::vector<size_t> sizes{4095, 4096, 65'537, 299'990};
  for (size_t size = 0; size < 1500; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    const uint8_t* data = bytes.data() + size % 9;  // unaligned
    const XXH128_hash_t expected = XXH3_128bits(data, size);
    uint64_t low = 0, high = 0;
    kernels.hash128(data, size, &low, &high);
    ASSERT_TRUE(low == expected.low64 && high == expected.high64) << size;
    ASSERT_EQ(kernels.hash64(data, size), XXH3_64bits(data, size)) << size;
    XXH3_state_t* state = XXH3_createState();
    XXH3_128bits_reset(state);
    for (size_t at = 0, piece = 1; at < size; at += piece, piece = 1 + piece * 7 % 5000)
      kernels.update(state, data + at, std::min(piece, size - at));
    const XXH128_hash_t streamed = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    ASSERT_TRUE(streamed.low64 == expected.low64 && streamed.high64 == expected.high64) << size;
  }
}

TEST(Hash, each_instruction_set_gives_the_same) {
  EXPECT_EQ(hash64("abc", 3), XXH3_64bits("abc", 3));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) expect_same_as_the_library(*hash_kernels_avx2());
  if (__builtin_cpu_supports("avx512f")) expect_same_as_the_library(*hash_kernels_avx512());
#endif
}

TEST(Hash, digits_come_back_and_anything_else_is_refused) {
  const Hash128 hash = hash128("forebay");
  Hash128 read;
  ASSERT_TRUE(Hash128::parse(hash.to_string(), &read));
  EXPECT_EQ(read, hash);
  for (const char* bad :
       {"", "0", "0000000000000000000000000000000", "000000000000000000000000000000000",
        "0000000000000000000000000000000g", "-000000000000000000000000000000f", "0000000000000000 00000000000000f"}) {
    EXPECT_FALSE(Hash128::parse(bad, &read)) << bad;
  }
}

}  // namespace
}  // namespace forebay
