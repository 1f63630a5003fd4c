#include "format/table/table_data.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "format/table/open_table_test_support.h"
#include "format/table/stub_table_test_support.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

namespace {

/// Tables in memory called t0, t1, …
TableData data_of(const std::vector<std::shared_ptr<StubTable>>& tables) {
  TableData data;
  data.group_word = "row group";
  for (const auto& table : tables) {
    TablePart part;
    part.file = table;
    part.name_in_memory = fmt::format("t{}", data.parts.size());
    data.parts.push_back(part);
  }
  return data;
}

std::shared_ptr<StubTable> of_groups(std::vector<int64_t> rows) {
  auto table = stub_of({"x"});
  table->group_rows = std::move(rows);
  return table;
}

}  // namespace

TEST(TableData, groups_without_rows_are_no_chunks_and_files_without_rows_have_a_place) {
  TableData data = data_of({of_groups({0, 2}), of_groups({}), of_groups({0}), of_groups({3, 0, 1})});
  ASSERT_TRUE(data.find_chunks().ok());
  EXPECT_EQ(data.begins, (std::vector<int64_t>{0, 2, 5, 6}));
  EXPECT_EQ(data.part_begins, (std::vector<int64_t>{0, 2, 2, 2}));
  ASSERT_EQ(data.chunks.size(), 3u);
  EXPECT_EQ(data.chunk_name(0), "t0, row group 1");
  EXPECT_EQ(data.chunk_name(2), "t3, row group 2") << "the group's number in its file";
  EXPECT_EQ(data.rows(1), 3);
  TableData none = data_of({});
  ASSERT_TRUE(none.find_chunks().ok());
  EXPECT_EQ(none.begins, std::vector<int64_t>{0});
}

TEST(TableData, numbers_of_rows_that_make_no_sense_are_told_with_file_and_group) {
  constexpr int64_t kMost = int64_t{1} << 56;
  const auto refused = [](std::vector<int64_t> rows, const char* part) {
    TableData data = data_of({of_groups({1}), of_groups(std::move(rows))});
    const Status status = data.find_chunks();
    expect_error(status, Code::kCorrupt, {part, "restore the file"});
    EXPECT_EQ(status.key(), "t1");
  };
  refused({1, -1}, "row group 1 claims -1 rows");
  refused({kMost + 1}, "row group 0 claims 72057594037927937 rows");
  refused({std::numeric_limits<int64_t>::max()}, "claims 9223372036854775807 rows");
  refused({std::numeric_limits<int64_t>::min()}, "claims -9223372036854775808 rows");
  refused({kMost, kMost, kMost}, "row group 1 claims");  // each is allowed, but not their sum
  TableData most = data_of({of_groups({kMost})});
  EXPECT_TRUE(most.find_chunks().ok());
}

TEST(TableData, more_groups_than_memory_are_refused_before_any_is_looked_at) {
  for (const int64_t claimed : {int64_t{-1}, (int64_t{1} << 26) + 1, std::numeric_limits<int64_t>::max()}) {
    const auto liar = of_groups({});
    liar->claimed_groups = claimed;
    TableData data = data_of({of_groups({1}), liar});
    const Status status = data.find_chunks();
    EXPECT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
    EXPECT_EQ(status.key(), "t1");
    EXPECT_TRUE(data.chunks.capacity() < 100);
  }
}

TEST(TableData, ways_of_treating_nulls_are_told_apart_by_their_texts) {
  using Own = std::vector<std::pair<std::string, NullPolicy::Value>>;
  std::set<std::string> texts;
  size_t different = 0;
  const auto add = [&](NullPolicy::Kind kind, NullPolicy::Value value, Own own) {
    texts.insert(null_policy_text({kind, std::move(value), std::move(own)}));
    ++different;
  };
  add(NullPolicy::Kind::kError, {}, {});
  add(NullPolicy::Kind::kMask, {}, {});
  const NullPolicy::Value values[] = {
      std::monostate(), true,          false,           int64_t{1},          int64_t{0},          1.0, 0.0, -0.0, 0.1,
      std::string("1"), std::string(), 0.1 + 1e-17 + 1, std::string("none"), std::string("int 1")};
  for (const NullPolicy::Value& value : values) add(NullPolicy::Kind::kValue, value, {});
  // Names and texts that imitate the boundary of two entries.
  const auto kValue = NullPolicy::Kind::kValue;
  add(kValue, {}, Own{{"a", int64_t{1}}, {"b", int64_t{2}}});
  add(kValue, {}, Own{{"b", int64_t{2}}, {"a", int64_t{1}}});
  add(kValue, {}, Own{{"a=int 1, 1:b", int64_t{2}}});
  add(kValue, {}, Own{{"a", std::string("x, 1:b=int 2")}});
  add(kValue, {}, Own{{"a", std::string("x")}, {"b", int64_t{2}}});
  add(kValue, std::string("x, 1:a=int 1"), {});
  add(kValue, std::string("x"), Own{{"a", int64_t{1}}});
  EXPECT_EQ(texts.size(), different);
}

}  // namespace forebay
