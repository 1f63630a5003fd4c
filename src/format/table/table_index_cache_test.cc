#include "format/table/table_index_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "format/table/fake_table.h"

namespace forebay {
namespace {

FakeTable numbers(int64_t first) {
  FakeTable table;
  table.columns = {{"a"}, {"b", DType::kFloat64}};
  for (int64_t group = 0; group < 3; ++group) table.groups.push_back({{first + group, 0.5}, {first + group + 10, 1.5}});
  return table;
}

struct Shelved {
  std::shared_ptr<const StoredIndex> index;
  std::shared_ptr<const TableFile> open, shelved;
};

struct TableIndexCacheTest : testing::Test {
  Shelved add(const std::shared_ptr<TableIndexCache>& cache, const FakeTable& table) {
    const std::string bytes = table.to_bytes();
    Buffer all = Buffer::allocate(bytes.size());
    std::memcpy(all.data(), bytes.data(), bytes.size());
    const uint64_t length = codec.index_tail_bytes(all.span(), bytes.size()).value();
    const Buffer tail = all.slice(bytes.size() - length, length);
    Shelved made;
    made.index = std::make_shared<const StoredIndex>(tail, std::span<const TableFile::Piece>(), bytes.size());
    made.open = codec.open(tail, bytes.size(), {}, {}).value();
    const std::string bounded[] = {"b"};
    made.shelved = with_cached_index(cache, made.index, made.open, bounded);
    return made;
  }

  FakeCounts counts;
  FakeCodec codec{&counts};
};

}  // namespace

TEST_F(TableIndexCacheTest, a_table_on_the_shelf_says_what_it_said_when_it_was_open) {
  const auto cache = std::make_shared<TableIndexCache>(codec, NullPolicy(), 0);
  const Shelved one = add(cache, numbers(0)), other = add(cache, numbers(100));
  EXPECT_EQ(&one.shelved->schema(), &other.shelved->schema()) << "what files have in common is kept once";
  for (int64_t group = 0; group < 3; ++group) {
    EXPECT_EQ(one.shelved->rows(group), one.open->rows(group));
    for (const std::vector<size_t>& fields : {std::vector<size_t>{0}, {1}, {0, 1}}) {
      EXPECT_EQ(one.shelved->cost(group, fields).fetched_bytes, one.open->cost(group, fields).fetched_bytes);
      EXPECT_EQ(one.shelved->cost(group, fields).decoded_bytes, one.open->cost(group, fields).decoded_bytes);
      EXPECT_EQ(one.shelved->ranges(group, fields), one.open->ranges(group, fields));
    }
    for (size_t field = 0; field < 2; ++field)
      EXPECT_EQ(one.shelved->bounds(group, field).min, one.open->bounds(group, field).min);
  }
}

TEST_F(TableIndexCacheTest, plans_open_nothing_and_what_was_used_last_stays_open) {
  // The budget holds two of the fake codec's files.
  const auto cache = std::make_shared<TableIndexCache>(codec, NullPolicy(), 2000);
  const Shelved tables[] = {add(cache, numbers(0)), add(cache, numbers(10)), add(cache, numbers(20))};
  const size_t field = 0;
  const int before = counts.opened;
  for (const Shelved& table : tables) {
    table.shelved->cost(0, std::span(&field, 1));
    table.shelved->bounds(0, 1);
  }
  EXPECT_EQ(counts.opened, before);
  tables[1].shelved->ranges(0, std::span(&field, 1));
  tables[2].shelved->ranges(0, std::span(&field, 1));
  EXPECT_EQ(counts.opened, before) << "both are open still";
  tables[0].shelved->ranges(0, std::span(&field, 1));
  EXPECT_EQ(counts.opened, before + 1);
  tables[2].shelved->ranges(0, std::span(&field, 1));
  EXPECT_EQ(counts.opened, before + 1);
  EXPECT_LE(cache->open_bytes(), 2000u);
}

}  // namespace forebay
