#include "format/files/key_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {
std::vector<std::string> keys_of(const KeyTable& table) {
  std::vector<std::string> keys;
  for (int64_t id = 0; id < table.size(); ++id) keys.emplace_back(table.key(id));
  return keys;
}
}  // namespace

TEST(KeyTable, SortsByBytes) {
  KeyTableBuilder builder;
  const std::vector<std::string> keys = {"b", "a/z", "a-b/x", "\xff", "\xc3\xa9", "B", "", "a", std::string("a\0b", 3)};
  for (size_t i = 0; i < keys.size(); ++i) builder.add(keys[i], i);
  const KeyTable table = std::move(builder).sorted();
  auto expected = keys;
  std::ranges::sort(expected);
  EXPECT_EQ(keys_of(table), expected);
  for (int64_t id = 0; id < table.size(); ++id) {
    EXPECT_EQ(keys[table.object_bytes(id)], table.key(id)) << "sizes stay with their keys";
    EXPECT_EQ(table.lower_bound(table.key(id)), id);
  }
  EXPECT_EQ(table.lower_bound("zzz"), 7);
}

TEST(KeyTable, ManyKeysSortedInParallelAreTheSame) {
  KeyTableBuilder builder;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 120'000; ++i) {
    keys.push_back(fmt::format("class_{:03}/{:08x}.jpg", i * 7919 % 100, i * 0x9E3779B97F4A7C15u >> 32));
    builder.add(keys.back(), i);
  }
  std::ranges::sort(keys);
  EXPECT_EQ(keys_of(std::move(builder).sorted()), keys);
}

TEST(KeyTable, CostsTheKeysAndAtMost16BytesASample) {
  for (const uint64_t largest : {uint64_t{100'000}, uint64_t{1} << 40}) {
    KeyTableBuilder builder;
    uint64_t key_bytes = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::string key = fmt::format("some/key/{}", i);
      key_bytes += key.size();
      builder.add(key, largest);
    }
    const KeyTable table = std::move(builder).sorted();
    EXPECT_LE(table.index_bytes(), key_bytes + 16 * 1000);
    EXPECT_EQ(table.object_bytes(999), largest);
  }
}

TEST(KeyTable, TheVersionIsOfKeysAndSizesInOrder) {
  const auto version = [](std::vector<std::pair<std::string, uint64_t>> entries, bool sorted) {
    KeyTableBuilder builder;
    for (const auto& [key, size] : entries) builder.add(key, size);
    return (sorted ? std::move(builder).sorted() : std::move(builder).in_order()).version();
  };
  EXPECT_EQ(version({{"a", 1}, {"b", 2}}, true), version({{"b", 2}, {"a", 1}}, true));
  EXPECT_FALSE(version({{"a", 1}, {"b", 2}}, false) == version({{"b", 2}, {"a", 1}}, false));
  EXPECT_FALSE(version({{"a", 1}}, true) == version({{"a", 2}}, true));
  EXPECT_FALSE(version({{"ab", 1}, {"c", 1}}, true) == version({{"a", 1}, {"bc", 1}}, true));
}

TEST(KeyTable, KeyBuffersOutliveTheTable) {
  Buffer kept;
  {
    KeyTableBuilder builder;
    builder.add("some/key", 1);
    kept = std::move(builder).sorted().key_buffer(0);
  }
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(kept.data()), kept.size()), "some/key");
}

TEST(KeyTable, VersionsOfObjectsAreKeptWhereAskedForAndNeverChangeTheTablesOwn) {
  KeyTableBuilder with(true), without;
  for (KeyTableBuilder* builder : {&with, &without}) {
    builder->add("b", 2, 22);
    builder->add("a", 1, 11);
  }
  const KeyTable kept = std::move(with).sorted(), left = std::move(without).sorted();
  EXPECT_EQ(kept.object_version(0), 11u);
  EXPECT_EQ(kept.object_version(1), 22u);
  EXPECT_EQ(left.object_version(0), 0u);
  EXPECT_EQ(kept.version(), left.version());
  EXPECT_EQ(kept.index_bytes(), left.index_bytes() + 16);
}

}  // namespace forebay
