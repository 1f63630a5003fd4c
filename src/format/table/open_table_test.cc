#include "forebay/stats/store.h"
#include "format/table/open_table_test_support.h"
#include "store/local/local_store.h"
#include "store/scratch_folder.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

TEST(OpenTable, rows_of_all_files_are_numbered_in_byte_order_of_the_keys) {
  Opening at;
  at.put("d/b.parquet", table(100, {2}));
  at.put("d/a.parquet", table(0, {2, 0, 1}));
  at.put("d/sub/c.parquet", table(200, {1}));
  for (const char* noise : {"d/_SUCCESS", "d/.a.parquet.crc", "d/a.parquet.crc", "d/_temporary/x.parquet",
                            "d/notes.txt", "d/.hidden/x.parquet", "d/_metadata"})
    at.store->put(noise, std::string_view(""));
  for (const char* pattern : {"d", "d/", "d/**/*.parquet", "d/{a,b,sub/c}.parquet"}) {
    const auto source = must(at.open(pattern));
    EXPECT_EQ(source->size(), 6) << pattern;
    EXPECT_EQ(source->chunks(), 4) << "empty groups are no chunks";
    EXPECT_EQ(source->schema().names(), "a, b, t");
    EXPECT_EQ(rows_of(*source), (Names{"0|0|row 0", "1|0.5|row 1", "2|1|row 2", "100|50|row 100", "101|50.5|row 101",
                                       "200|100|row 200"}));
    EXPECT_EQ(source->key(2), "memory:d/a.parquet row 2");
    EXPECT_EQ(source->key(4), "memory:d/b.parquet row 1");
    EXPECT_EQ(source->chunk_name(1), "memory:d/a.parquet, row group 2");
  }
  EXPECT_EQ(must(at.open("d/b.parquet"))->size(), 2);
}

TEST(OpenTable, a_list_is_in_byte_order_and_holds_no_file_twice) {
  ScratchFolder folder;
  folder.write("x/*.parquet", table(0, {1}).to_bytes());
  folder.write("x/b.parquet", table(5, {1}).to_bytes());
  FakeCodecs codecs;
  TableRequest request;
  request.is_list = true;
  request.names = {folder.path("x/b.parquet"), folder.path("x/*.parquet"), folder.path("x/b.parquet")};
  const auto source = must(open_table({local_store(""), request.names[0], ""}, request, codecs, {}));
  EXPECT_EQ(rows_of(*source), (Names{"0|0|row 0", "5|2.5|row 5"})) << "nothing is special in names of a list";
  request.names.push_back(folder.path("x/none.parquet"));
  expect_error(open_table({local_store(""), request.names[0], ""}, request, codecs, {}).status(), Code::kNotFound,
               {"none.parquet"});
}

TEST(OpenTable, what_is_missing_is_told_with_the_nearest_thing) {
  Opening at;
  at.store->put("d/part-00000", std::string_view("x"));
  expect_error(at.open("e/x.parquet").status(), Code::kNotFound, {"nothing matches", "e/x.parquet"});
  expect_error(at.open("d").status(), Code::kNotFound, {"no file that ends in .parquet", "'d/**'"});
  expect_error(at.open("d/*.parquet").status(), Code::kNotFound, {"nothing matches 'd/*.parquet'"});
}

TEST(OpenTable, a_delta_table_is_refused_since_its_files_hold_deleted_rows) {
  Opening at;
  at.put("d/a.parquet", table(0, {1}));
  at.store->put("d/_delta_log/0.json", std::string_view("{}"));
  expect_error(at.open("d").status(), Code::kUnsupported, {"Delta table", "list of its live files"});
  expect_error(at.open("d/**/*.parquet").status(), Code::kUnsupported, {"Delta table", "list of its live files"});
  // A folder that contains several tables: the error names this one.
  at.put("all/plain/a.parquet", table(0, {1}));
  at.put("all/sales/a.parquet", table(0, {1}));
  at.store->put("all/sales/_delta_log/0.json", std::string_view("{}"));
  expect_error(at.open("all").status(), Code::kUnsupported, {"all/sales/", "Delta table"});
}

TEST(OpenTable, damaged_files_are_told_all_at_once) {
  Opening at;
  at.put("d/a.parquet", table(0, {1}));
  at.store->put("d/b.parquet", std::string_view("this is no table at all"));
  expect_error(at.open("d").status(), Code::kCorrupt, {"memory:d/b.parquet", "not 'FAKE'", "leave it out"});
  at.store->put("d/c.parquet", std::string_view(""));
  at.store->put("d/e.parquet", std::string_view("99999999FAKE"));
  expect_error(at.open("d").status(), Code::kCorrupt,
               {"3 of 4 files", "b.parquet", "c.parquet: the file is empty", "longer than the file"});
}

TEST(OpenTable, columns_are_chosen_by_name_in_the_order_asked_for) {
  Opening at;
  FakeTable file = table(0, {2});
  file.columns[1].name = "user.age";
  file.columns[2].name = "user.name";
  at.put("x.parquet", file);
  EXPECT_EQ(must(at.open("x.parquet", {.columns = Names{"user.name", "a"}}))->schema().names(), "user.name, a");
  EXPECT_EQ(must(at.open("x.parquet", {.columns = Names{"user"}}))->schema().names(), "user.age, user.name");
  expect_error(at.open("x.parquet", {.columns = Names{"user.nam"}}).status(), Code::kInvalidArgument,
               {"no column 'user.nam'", "did you mean 'user.name'"});
  expect_error(at.open("x.parquet", {.columns = Names{}}).status(), Code::kInvalidArgument, {"names no column"});

  const auto source = must(at.open("x.parquet"));
  const auto fewer = source->with_fields(Names{"user.name", "a"}).value();
  EXPECT_EQ(rows_of(*fewer), (Names{"row 0|0", "row 1|1"}));
  EXPECT_LT(fewer->chunk_cost(0).fetched_bytes, source->chunk_cost(0).fetched_bytes);
  EXPECT_EQ(fewer->version(), source->version()) << "what is looked at is no property of the data";
  EXPECT_EQ(source->with_fields(Names{"b"}).status().code(), Code::kInvalidArgument);
}

TEST(OpenTable, files_that_differ_are_told_with_both_names_and_all_at_once) {
  Opening at;
  at.put("d/a.parquet", table(0, {1}));
  FakeTable other = table(0, {1});
  std::swap(other.columns[0], other.columns[1]);
  for (auto& row : other.groups[0]) std::swap(row[0], row[1]);
  at.put("d/b.parquet", other);
  EXPECT_EQ(rows_of(*must(at.open("d"))), (Names{"0|0|row 0", "0|0|row 0"})) << "the order of columns may differ";

  FakeTable wrong = table(0, {1});
  wrong.columns[1].dtype = DType::kInt64;
  wrong.columns[1].name = "b";
  wrong.columns[2].name = "u";
  for (auto& row : wrong.groups[0]) row[1] = int64_t{1};
  at.put("d/c.parquet", wrong);
  at.put("d/d.parquet", wrong);
  expect_error(at.open("d").status(), Code::kInvalidArgument,
               {"'memory:d/c.parquet' has the column 'b' as int64 (), where 'memory:d/a.parquet' has it as float64",
                "1 more files", "types={'b'", "columns="});
  EXPECT_EQ(must(at.open("d", {.columns = Names{"a"}}))->size(), 4) << "columns that nobody looks at may differ";
  EXPECT_EQ(rows_of(*must(at.open("d", {.columns = Names{"a", "u"}}))), (Names{"bad", "bad", "0|row 0", "0|row 0"}));

  FakeTable times = table(0, {1});
  times.columns[0].ticks_per_day = 86'400;
  at.put("e/a.parquet", table(0, {1}));
  at.put("e/b.parquet", times);
  expect_error(at.open("e").status(), Code::kInvalidArgument, {"has the column 'a' as datetime64[s]"});
}

TEST(OpenTable, many_differences_are_cut_short) {
  Opening at;
  for (const bool text : {false, true}) {
    FakeTable wide = table(0, {1});
    for (int i = 0; i < 30; ++i) {
      wide.columns.push_back({.name = "extra" + std::to_string(i), .text = text});
      wide.groups[0][0].push_back(text ? FakeTable::Cell(std::string("1")) : FakeTable::Cell(int64_t{1}));
    }
    at.put(text ? "d/1.parquet" : "d/0.parquet", wide);
  }
  expect_error(at.open("d").status(), Code::kInvalidArgument, {"and 20 more differences"});
}

TEST(OpenTable, a_mask_is_there_for_all_files_if_one_may_hold_nulls) {
  Opening at;
  FakeTable nullable = table(0, {2});
  nullable.groups[0][1][0] = kNull;
  FakeTable required = table(10, {1});
  required.columns[0].nullable = false;
  at.put("d/b.parquet", nullable);
  at.put("d/a.parquet", required);
  TableSelection masked;
  masked.reading.nulls.kind = NullPolicy::Kind::kMask;
  masked.columns = Names{"a"};
  const auto source = must(at.open("d", masked));
  EXPECT_EQ(source->schema().names(), "a, a_valid");
  EXPECT_EQ(rows_of(*source), (Names{"10|yes", "0|yes", "0|no"}));
  EXPECT_EQ(rows_of(*must(at.open("d", {.columns = Names{"a"}}))), (Names{"10", "0", "bad"}));
  TableSelection value;
  value.columns = Names{"a"};
  value.reading.nulls = {NullPolicy::Kind::kValue, int64_t{7}, {}};
  const auto filled = must(at.open("d", value));
  EXPECT_EQ(rows_of(*filled), (Names{"10", "0", "7"}));
  EXPECT_NE(filled->version(), must(at.open("d", {.columns = Names{"a"}}))->version());
}

TEST(OpenTable, partition_folders_become_columns) {
  Opening at;
  at.put("d/date=2026-01-01/n=7/x.parquet", table(0, {1}));
  at.put("d/date=2026-01-02/n=-12/x.parquet", table(1, {2}));
  at.put("d/date=a%20b%2Fc%zz/n=3/x.parquet", table(3, {1}));
  const auto source = must(at.open("d"));
  EXPECT_EQ(source->schema().names(), "a, b, t, date, n");
  EXPECT_EQ(rows_of(*source->with_fields(Names{"n", "a", "date"}).value()),
            (Names{"7|0|2026-01-01", "-12|1|2026-01-02", "-12|2|2026-01-02", "3|3|a b/c%zz"}));
  EXPECT_EQ(must(at.open("d/*/n=*/x.parquet", {.columns = Names{"date"}}))->schema().names(), "date");
  EXPECT_EQ(must(at.open("d/date=2026-01-01"))->schema().names(), "a, b, t, n")
      << "folders above what was given say nothing";
  const auto only = must(at.open("d", {.columns = Names{"date"}}));
  EXPECT_TRUE(only->chunk_fetch(0).requests.empty()) << "nothing is read for what folders say";
  EXPECT_EQ(rows_of(*only).size(), 4u);

  at.put("d/n=1/date=x/y.parquet", table(3, {1}));
  expect_error(at.open("d").status(), Code::kInvalidArgument, {"date=…/n=…", "n=…/date=…", "y.parquet"});
  at.put("e/a=1/x.parquet", table(3, {1}));
  expect_error(at.open("e").status(), Code::kInvalidArgument, {"both a column", "'a=…'"});
}

TEST(OpenTable, a_null_folder_follows_the_null_policy) {
  Opening at;
  at.put("d/k=1/x.parquet", table(0, {1}));
  at.put("d/k=__HIVE_DEFAULT_PARTITION__/x.parquet", table(1, {1}));
  const auto with = [&](NullPolicy nulls) {
    TableSelection selection;
    selection.columns = Names{"a", "k"};
    selection.reading.nulls = std::move(nulls);
    return at.open("d", selection);
  };
  expect_error(with({}).status(), Code::kInvalidArgument, {"'k' is null", "NULL_MASK"});
  EXPECT_EQ(rows_of(*must(with({NullPolicy::Kind::kMask, {}, {}}))), (Names{"0|yes|1|yes", "1|yes|0|no"}));
  EXPECT_EQ(rows_of(*must(with({NullPolicy::Kind::kValue, int64_t{-1}, {}}))), (Names{"0|1", "1|-1"}));
  EXPECT_EQ(rows_of(*must(with({NullPolicy::Kind::kValue, {}, {{"k", int64_t{5}}}}))), (Names{"0|1", "1|5"}));
  expect_error(with({NullPolicy::Kind::kValue, {}, {{"k", std::string("x")}}}).status(), Code::kInvalidArgument,
               {"'k' holds integers"});
  EXPECT_EQ(must(at.open("d", {.columns = Names{"a"}}))->size(), 2) << "nobody looks at it";
  const RowFilter filter = {{{"k", CompareOp::kGreaterEqual, {int64_t{0}}}}};
  EXPECT_EQ(kept_of(*must(at.open("d", {.columns = {}, .filter = filter}))), (std::vector<int64_t>{0}));
}

TEST(OpenTable, a_damaged_row_group_is_told_with_its_place) {
  Opening at;
  std::string bytes = table(0, {2, 2}).to_bytes();
  FakeTable file = table(0, {2, 2});
  file.columns.erase(file.columns.begin() + 1, file.columns.end());
  for (auto& group : file.groups)
    for (auto& row : group) row.resize(1);
  bytes = file.to_bytes();
  bytes.replace(18 + 12, 6, "BROKEN");  // the end of the second group's only chunk
  at.store->put("x.parquet", std::string_view(bytes));
  const auto rows = rows_of(*must(at.open("x.parquet")));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2], "Corrupt: memory:x.parquet, row group 1: column 'a' is damaged");
}

TEST(OpenTable, what_damage_keeps_a_filter_from_deciding_is_kept_and_bad) {
  Opening at;
  FakeTable file = table(0, {2, 2});
  file.columns.erase(file.columns.begin() + 1, file.columns.end());
  for (auto& group : file.groups)
    for (auto& row : group) row.resize(1);
  std::string bytes = file.to_bytes();
  bytes.replace(18 + 12, 6, "BROKEN");  // the end of the second group's only chunk
  at.store->put("x.parquet", std::string_view(bytes));
  const RowFilter filter = {{{"a", CompareOp::kGreaterEqual, {int64_t{1}}}, {"a", CompareOp::kNotEqual, {int64_t{3}}}}};
  const auto source = must(at.open("x.parquet", {.columns = {}, .filter = filter}));
  EXPECT_EQ(kept_of(*source), (std::vector<int64_t>{1, 2, 3}));
  const auto rows = rows_of(*source);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NE(rows[2].find("filter"), std::string::npos) << rows[2];
  EXPECT_NE(rows[2].find("memory:x.parquet, row group 1"), std::string::npos) << rows[2];

  // If files have versions a cache stores row groups, but not those that only this filter makes
  // bad.
  const ScratchFolder folder;
  folder.write("x.parquet", bytes);
  TableRequest request;
  request.selection.filter = filter;
  const auto versioned = must(open_table({local_store(folder.path()), "x.parquet", ""}, request, at.codecs, {}));
  EXPECT_TRUE(versioned->chunk_identity(0));
  EXPECT_FALSE(versioned->chunk_identity(1));
}

TEST(OpenTable, a_filter_opens_no_index_again) {
  Opening at;
  at.put("d/a.parquet", table(0, {2, 2}));
  at.put("d/b.parquet", table(4, {2}));
  const RowFilter filter = {{{"a", CompareOp::kGreater, {int64_t{1}}}}};
  must(at.open("d", {.columns = {}, .filter = filter}));
  EXPECT_EQ(at.codecs.counts.opened, 2);
}

TEST(OpenTable, chunks_near_each_other_are_read_together) {
  Opening at;
  FakeTable file = table(0, {100});
  file.gap_bytes = 1000;
  at.put("near.parquet", file);
  file.gap_bytes = 100'000;
  at.put("far.parquet", file);
  EXPECT_EQ(must(at.open("near.parquet"))->chunk_fetch(0).requests.size(), 1u);
  EXPECT_EQ(must(at.open("far.parquet"))->chunk_fetch(0).requests.size(), 3u);
  EXPECT_EQ(rows_of(*must(at.open("far.parquet"))).size(), 100u);
}

TEST(OpenTable, the_version_follows_keys_sizes_and_rows_and_not_the_place) {
  Opening at;
  for (const char* root : {"d/", "elsewhere/"}) {
    at.put(std::string(root) + "a.parquet", table(0, {2}));
    at.put(std::string(root) + "b.parquet", table(2, {2}));
  }
  const Hash128 version = must(at.open("d"))->version();
  EXPECT_EQ(version, must(at.open("elsewhere"))->version());
  at.put("d/c.parquet", table(0, {0}));
  EXPECT_NE(version, must(at.open("d"))->version());
  EXPECT_NE(version, must(at.open("elsewhere", {.columns = Names{"a"}}))->version());
}

TEST(OpenTable, thousands_of_files_open_with_one_read_each) {
  Opening at;
  for (int i = 0; i < 3000; ++i) at.put(fmt::format("d/{:05}.parquet", i), table(i, {1}));
  const uint64_t before = at.store->stats().requests;
  const auto source = must(at.open("d"));
  EXPECT_EQ(source->size(), 3000);
  EXPECT_LT(at.store->stats().requests - before, 3000u + 20);
  EXPECT_LT(source->index_bytes(), 3000u * 2500) << "1000 of which are the fake codec's own, while it is open";
}

TEST(OpenTable, a_large_index_is_read_whole) {
  Opening at;
  FakeTable file = table(0, std::vector<int>(2000, 1));
  ASSERT_GT(file.to_bytes().size(), 300'000u);
  at.put("x.parquet", file);
  const auto source = must(at.open("x.parquet"));
  EXPECT_EQ(source->chunks(), 2000);
  EXPECT_EQ(rows_of(*source).back(), "1999|999.5|row 1999");
}

TEST(OpenTable, tables_in_memory_are_one_after_the_other) {
  FakeCodecs codecs;
  FakeTable first = table(0, {2, 1}), second = table(3, {1});
  const auto take = [&](FakeTable& each) { return codecs.take_stream(&each, {}).value(); };
  const auto source = must(open_memory_tables({take(first), take(second)}, {}, codecs, {}));
  EXPECT_EQ(source->size(), 4);
  EXPECT_EQ(source->key(3), "table 1 in memory row 0");
  EXPECT_TRUE(source->chunk_fetch(0).requests.empty());
  EXPECT_EQ(rows_of(*source).back(), "3|1.5|row 3");
  ASSERT_TRUE(source->chunk_identity(0));
  EXPECT_EQ(source->chunk_identity(2), must(open_memory_tables({take(second)}, {}, codecs, {}))->chunk_identity(0))
      << "known by their content, wherever they stand";
  EXPECT_NE(source->chunk_identity(0), source->chunk_identity(1));
  EXPECT_EQ(source->version(), must(open_memory_tables({take(first), take(second)}, {}, codecs, {}))->version());
  FakeTable other = table(9, {1});
  EXPECT_NE(source->version(), must(open_memory_tables({take(first), take(other)}, {}, codecs, {}))->version());
  const RowFilter filter = {{{"a", CompareOp::kGreater, {int64_t{1}}}}};
  expect_error(open_memory_tables({take(first)}, {.columns = {}, .filter = filter}, codecs, {}).status(),
               Code::kUnsupported, {"NULL_MASK"});
}

TEST(OpenTable, a_file_that_comes_later_is_opened_like_the_first) {
  Opening at;
  at.put("d/k=1/a.parquet", table(0, {2}));
  at.put("d/k=7/b.parquet", table(10, {1, 1}));
  FakeTable other = table(20, {1});
  other.columns[1].dtype = DType::kFloat32;
  at.put("d/k=8/c.parquet", other);
  at.put("d/k=x/d.parquet", table(30, {1}));
  at.put("d/l=1/e.parquet", table(40, {1}));
  TableRequest request;
  const auto open = [&](const std::string& below) {
    DataFiles files{at.store, "d/", {{"d/" + below, std::nullopt, 0}}};
    return open_table_files(std::move(files), request, at.codecs, {});
  };
  const auto first = must(open("k=1/a.parquet"));
  request.model = model_of(*first);
  ASSERT_TRUE(request.model);
  const auto second = must(open("k=7/b.parquet"));
  EXPECT_EQ(second->schema().names(), first->schema().names());
  EXPECT_EQ(rows_of(*second), (Names{"10|5|row 10|7", "11|5.5|row 11|7"}));
  EXPECT_EQ(second->key(1), "memory:d/k=7/b.parquet row 1");
  expect_error(open("k=8/c.parquet").status(), Code::kInvalidArgument,
               {"memory:d/k=8/c.parquet", "the column 'b' as float32", "memory:d/k=1/a.parquet"});
  expect_error(open("k=x/d.parquet").status(), Code::kInvalidArgument, {"memory:d/k=x/d.parquet", "'k'"});
  expect_error(open("l=1/e.parquet").status(), Code::kInvalidArgument, {"memory:d/l=1/e.parquet", "other names"});
}

TEST(OpenTable, a_file_that_comes_later_has_texts_in_its_folders_name_where_the_first_has) {
  Opening at;
  at.put("d/k=x/a.parquet", table(0, {1}));
  at.put("d/k=7/b.parquet", table(10, {1}));
  TableRequest request;
  const auto open = [&](const std::string& below) {
    DataFiles files{at.store, "d/", {{"d/" + below, std::nullopt, 0}}};
    return must(open_table_files(std::move(files), request, at.codecs, {}));
  };
  request.model = model_of(*open("k=x/a.parquet"));
  EXPECT_EQ(rows_of(*open("k=7/b.parquet")), (Names{"10|5|row 10|7"}));
}

}  // namespace forebay
