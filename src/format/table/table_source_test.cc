#include "format/table/table_source.h"

#include <gtest/gtest.h>

#include <cstring>

#include "format/table/open_table_test_support.h"
#include "format/table/stub_table_test_support.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

namespace {

ColumnValues int64s(const std::vector<int64_t>& values) {
  ColumnValues column;
  column.values = Buffer::allocate(values.size() * sizeof(int64_t));
  // An empty vector gives a null pointer, which must not be passed to memcpy().
  if (!values.empty()) std::memcpy(column.values.data(), values.data(), column.values.size());
  return column;
}

std::vector<Buffer> fetched_of(const ChunkSource& source, int64_t chunk) {
  const auto fetch = source.chunk_fetch(chunk);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) fetched.push_back(read_wait(*fetch.store, request, {}).value());
  return fetched;
}

}  // namespace

TEST(TableSource, a_row_is_called_by_its_file_and_its_place_there_across_files_without_rows) {
  Opening at;
  at.put("d/a.parquet", table(0, {2, 1}));
  at.put("d/b.parquet", table(0, {}));
  at.put("d/c.parquet", table(0, {0}));
  at.put("d/e.parquet", table(0, {1}));
  const auto source = must(at.open("d"));
  const Names keys = {"a.parquet row 0", "a.parquet row 1", "a.parquet row 2", "e.parquet row 0"};
  ASSERT_EQ(source->size(), 4);
  for (int64_t id = 0; id < 4; ++id) EXPECT_EQ(source->key(id), "memory:d/" + keys[static_cast<size_t>(id)]);
}

TEST(TableSource, what_folders_say_is_given_without_reading_a_file) {
  Opening at;
  at.put("t/n=5/s=x/a.parquet", table(0, {2}));
  at.put("t/n=__HIVE_DEFAULT_PARTITION__/s=/b.parquet", table(0, {1}));
  NullPolicy masks;
  masks.kind = NullPolicy::Kind::kMask;
  const auto source = must(at.open("t", {.columns = Names{"n", "s"}, .reading = masks}));
  ASSERT_EQ(source->schema().names(), "n, n_valid, s");
  for (size_t field = 0; field < 3; ++field) EXPECT_TRUE(source->is_of_folder(field));
  for (int64_t chunk = 0; chunk < source->chunks(); ++chunk) {
    EXPECT_EQ(source->chunk_fetch(chunk).store, nullptr);
    EXPECT_EQ(source->chunk_cost(chunk).fetched_bytes, 0u);
  }
  EXPECT_EQ(rows_of(*source), (Names{"5|yes|x", "5|yes|x", "0|no|"}));
  EXPECT_GE(source->chunk_cost(0).decoded_bytes, 2 * (8u + 1 + 8 + 1)) << "offset, text, number, mask of two rows";
  const auto mixed = must(at.open("t", {.columns = Names{"n", "a"}, .reading = masks}));
  EXPECT_EQ(rows_of(*mixed), (Names{"5|yes|0|yes", "5|yes|1|yes", "0|no|0|yes"}));
  EXPECT_TRUE(mixed->is_of_folder(0));
  EXPECT_FALSE(mixed->is_of_folder(2));
}

TEST(TableSource, reads_that_gave_something_else_are_a_defect_and_not_a_crash) {
  Opening at;
  at.put("a.parquet", table(0, {3}));
  const auto source = must(at.open("a.parquet"));
  const auto decode = [&](std::vector<Buffer> fetched) {
    WorkMemory memory;
    return source->decode(0, std::move(fetched), memory).status();
  };
  ASSERT_EQ(fetched_of(*source, 0).size(), 1u);
  EXPECT_TRUE(decode(fetched_of(*source, 0)).ok());
  expect_error(decode({}), Code::kInternal, {"memory:a.parquet, row group 0", "another number of buffers"});
  std::vector<Buffer> twice = fetched_of(*source, 0);
  twice.push_back(twice[0]);
  EXPECT_EQ(decode(std::move(twice)).code(), Code::kInternal);
  std::vector<Buffer> cut = fetched_of(*source, 0);
  cut[0] = cut[0].slice(0, cut[0].size() - 1);
  expect_error(decode(std::move(cut)), Code::kInternal, {"row group 0", "another length"});
}

TEST(TableSource, a_group_that_holds_another_number_of_rows_than_its_index_says_is_corrupt) {
  FakeCodecs codecs;
  for (const int64_t held : {0, 2, 4}) {
    const auto liar = stub_of({"x"});
    liar->group_rows = {3};
    liar->decoded.rows = held;
    liar->decoded.values.push_back(int64s(std::vector<int64_t>(static_cast<size_t>(held))));
    expect_error(open_memory_tables({liar}, {}, codecs, {}).status(), Code::kCorrupt,
                 {"table in memory, batch 0", fmt::format("holds {} rows where the file's index says 3", held)});
  }
  const auto fewer = stub_of({"x", "y"});
  fewer->decoded.rows = 1;
  fewer->decoded.values.push_back(int64s({1}));
  expect_error(open_memory_tables({fewer}, {}, codecs, {}).status(), Code::kInternal, {"another number of columns"});
}

TEST(TableSource, times_have_the_names_that_numpy_gives_them) {
  struct Case {
    int64_t ticks_per_day;
    bool since_1970;
    const char* name;
  };
  constexpr int64_t kSeconds = 86'400;
  const Case cases[] = {{1, true, "datetime64[D]"},
                        {kSeconds, true, "datetime64[s]"},
                        {kSeconds * 1'000, false, "timedelta64[ms]"},
                        {kSeconds * 1'000'000, true, "datetime64[us]"},
                        {kSeconds * 1'000'000'000, false, "timedelta64[ns]"},
                        {24, true, ""}};
  FakeCodecs codecs;
  for (const Case& one : cases) {
    const auto times = stub_of({"x", "t"});
    times->times[1] = {one.ticks_per_day, one.since_1970};
    times->decoded.rows = 1;
    times->decoded.values.push_back(int64s({1}));
    times->decoded.values.push_back(int64s({1}));
    const auto source = must(open_memory_tables({times}, {}, codecs, {}));
    EXPECT_EQ(source->time_name(1), one.name);
    EXPECT_EQ(source->time_name(0), "");
    const Names reversed = {"t", "x"};
    EXPECT_EQ(source->with_fields(reversed).value()->time_name(0), one.name) << "fields stand in another order";
  }
}

TEST(TableSource, fewer_fields_may_be_chosen_from_fewer_and_wrong_names_are_told) {
  Opening at;
  at.put("p=7/a.parquet", table(4, {1}));
  const auto source = must(at.open("*/a.parquet"));
  const auto two = source->with_fields(Names{"p", "t"}).value();
  EXPECT_EQ(rows_of(*two), Names{"7|row 4"});
  EXPECT_EQ(rows_of(*two->with_fields(Names{"t"}).value()), Names{"row 4"});
  EXPECT_EQ(rows_of(*two->with_fields(Names{"t", "p", "t"}).value()), Names{"row 4|7|row 4"});
  EXPECT_EQ(two->with_fields(Names{}).value()->schema().size(), 0u);
  expect_error(two->with_fields(Names{"a"}).status(), Code::kInvalidArgument, {"no column 'a'"});
  expect_error(source->with_fields(Names{"pp"}).status(), Code::kInvalidArgument, {"did you mean 'p'"});
}

}  // namespace forebay
