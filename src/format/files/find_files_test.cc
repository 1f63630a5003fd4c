#include "format/files/find_files.h"

#include <gtest/gtest.h>

#include <array>

#include "forebay/stats/store.h"
#include "format/table/open_table_test_support.h"
#include "store/slow/slow_store.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

namespace {

constexpr std::array<std::string_view, 2> kTestEndings = {".parquet", ".parq"};

std::shared_ptr<MemoryStore> holding(const Names& keys) {
  auto store = memory_store();
  for (const std::string& key : keys) store->put(key, std::string_view(key));
  return store;
}

Result<DataFiles> find_by(std::shared_ptr<Store> store, const std::string& pattern, std::stop_token stop = {}) {
  return find_data_files({std::move(store), pattern, ""}, {false, {}, kTestEndings}, std::move(stop));
}

Result<DataFiles> find_names(const std::string& store_name, const Names& names) {
  return find_data_files({memory_store(), "", store_name}, {true, names, kTestEndings}, {});
}

Names keys_of(const Result<DataFiles>& files) {
  EXPECT_TRUE(files.ok()) << files.status().to_string();
  Names keys;
  if (files.ok())
    for (const DataFile& entry : files->files) keys.push_back(entry.key);
  return keys;
}

}  // namespace

TEST(DataFiles, partitions_begin_below_the_folder_that_was_given_or_before_the_first_special_character) {
  const auto store = holding({"t/d=1/a.parquet", "t/d=1/b.parquet", "t/d=2/a.parquet", "u/d=1/a.parquet"});
  struct Case {
    const char *pattern, *base;
    size_t files;
  };
  const Case cases[] = {
      {"t", "t/", 3},
      {"t/", "t/", 3},
      {"t/d=1", "t/d=1/", 2},
      {"t/d=1/a.parquet", "t/d=1/", 1},
      {"t/d=*/a.parquet", "t/", 2},
      {"t/d=1/*.parquet", "t/d=1/", 2},
      {"t/d={1,2}/a.parquet", "t/", 2},
      {"{t,u}/d=1/a.parquet", "", 2},
      {"[tu]/**/b.parquet", "", 1},
      {"t/d=?/[ab].parquet", "t/", 3},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.pattern);
    const auto found = find_by(store, one.pattern);
    EXPECT_EQ(keys_of(found).size(), one.files);
    EXPECT_EQ(found.value().base, one.base);
  }
  EXPECT_EQ(keys_of(find_by(holding({"a.parquet", "b=1/a.parquet"}), "")), (Names{"a.parquet", "b=1/a.parquet"}));
}

TEST(DataFiles, what_other_systems_leave_beside_their_files_is_left_out_unless_it_is_asked_for) {
  const auto store = holding({"t/a.parquet", "t/_b.parquet", "t/c.parquet.crc", "t/_x=1/a.parquet", "t/_old/a.parquet",
                              "t/.h/a.parquet", "t/_y=1.parquet", "t/d.parq", "t/e.csv"});
  const Names sound = {"t/_x=1/a.parquet", "t/_y=1.parquet", "t/a.parquet", "t/d.parq"};
  EXPECT_EQ(keys_of(find_by(store, "t")), sound);
  EXPECT_EQ(keys_of(find_by(store, "t/*.parquet")), (Names{"t/_y=1.parquet", "t/a.parquet"}));
  EXPECT_EQ(keys_of(find_by(store, "t/_*.parquet")), (Names{"t/_b.parquet", "t/_y=1.parquet"}));
  EXPECT_EQ(keys_of(find_by(store, "t/_b.parquet")), Names{"t/_b.parquet"}) << "a name in full";
  EXPECT_EQ(keys_of(find_by(store, "t/e.csv")), Names{"t/e.csv"}) << "a file that is named needs no ending";
  EXPECT_EQ(keys_of(find_by(store, "t/*.crc")), Names{"t/c.parquet.crc"});
  EXPECT_EQ(keys_of(find_by(store, "t/*")), (Names{"t/_y=1.parquet", "t/a.parquet", "t/d.parq", "t/e.csv"}));
}

TEST(DataFiles, a_listing_tells_sizes_and_names_in_braces_are_asked_for_when_they_are_opened) {
  const auto store = holding({"t/a.parquet", "t/b.parquet"});
  const auto listed = find_by(store, "t/*.parquet").value();
  EXPECT_EQ(listed.files[1].size, 11u);
  const uint64_t before = store->stats().requests;
  const auto spelled = find_by(store, "t/{b,a,none,b}.parquet");
  EXPECT_EQ(keys_of(spelled), (Names{"t/a.parquet", "t/b.parquet", "t/none.parquet"})) << "each once, in byte order";
  EXPECT_FALSE(spelled.value().files[0].size) << "asked for when it is opened";
  EXPECT_EQ(store->stats().requests - before, 2u) << "whether a file or a folder has the pattern's own name";
}

TEST(DataFiles, a_file_goes_before_a_folder_of_the_same_name) {
  const auto store = holding({"t", "t/a.parquet"});
  EXPECT_EQ(keys_of(find_by(store, "t")), Names{"t"});
  EXPECT_EQ(keys_of(find_by(store, "t/")), Names{"t/a.parquet"});
}

TEST(DataFiles, the_base_of_a_list_is_what_the_folders_of_all_names_have_in_common) {
  struct Case {
    Names names;
    const char* base;
  };
  const Case cases[] = {
      {{"t/d=1/a"}, "t/d=1/"},
      {{"t/d=1/a", "t/d=1/b"}, "t/d=1/"},
      {{"t/d=12/a", "t/d=1/a"}, "t/"},  // "t/d=1" is not a folder of both
      {{"t/ab", "t/ac"}, "t/"},
      {{"t/a", "t/d=1/a", "t/d=2/e=1/a"}, "t/"},
      {{"a", "t/b"}, ""},
      {{"/x/a", "/y/b"}, "/"},
      {{"/x/a", "y/b"}, ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.names.back());
    EXPECT_EQ(find_names("", one.names).value().base, one.base);
  }
}

TEST(DataFiles, a_list_of_two_stores_is_refused_without_telling_what_is_secret) {
  expect_error(find_names("s3://one", {"s3://one/a.parquet", "s3://two/b.parquet"}).status(), Code::kInvalidArgument,
               {"'s3://two/b.parquet' lies in another store than 's3://one/a.parquet'"});
  const Status status = find_names("http", {"https://me:word@host/a?sig=key", "local.parquet"}).status();
  expect_error(status, Code::kInvalidArgument, {"'local.parquet'", "host/a"});
  EXPECT_EQ(status.message().find("word"), std::string::npos);
  EXPECT_EQ(status.message().find("key"), std::string::npos);
}

TEST(DataFiles, web_addresses_are_spelled_out_since_nothing_can_be_listed) {
  const auto find_url = [](const std::string& url) {
    return find_data_files({memory_store(), url, "http"}, {false, {}, kTestEndings}, {});
  };
  const auto found = find_url("https://host/t/d={1,2}/a.parquet?v=[1]");
  EXPECT_EQ(keys_of(found), (Names{"https://host/t/d=1/a.parquet?v=[1]", "https://host/t/d=2/a.parquet?v=[1]"}))
      << "'?' begins the query";
  EXPECT_EQ(found.value().base, "https://host/t/");
  for (const char* wrong : {"https://host/t/", "https://host/*.parquet"})
    expect_error(find_url(wrong).status(), Code::kUnsupported, {"cannot be listed", "braces"});
}

TEST(DataFiles, a_listing_that_fails_is_no_empty_folder) {
  const auto failing = slow_store(holding({"t/a.parquet"}), {.error_rate = 1});
  std::stop_source stopped;
  stopped.request_stop();
  for (const char* pattern : {"t", "t/", "t/*.parquet", "t/a.parquet"}) {
    EXPECT_EQ(find_by(failing, pattern).status().code(), Code::kUnavailable) << pattern;
    EXPECT_EQ(find_by(holding({"t/a.parquet"}), pattern, stopped.get_token()).status().code(), Code::kCancelled)
        << pattern;
  }
  EXPECT_EQ(find_by(holding({}), "t/{0..9999999}.parquet").status().code(), Code::kInvalidArgument);
}

}  // namespace forebay
