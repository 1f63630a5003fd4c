#include "format/open_files.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "format/files/open_store.h"
#include "store/local/local_store.h"
#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"

namespace forebay {

namespace {

using Names = std::vector<std::string>;

std::shared_ptr<MemoryStore> store_of(const Names& keys) {
  auto store = memory_store();
  for (const auto& key : keys) store->put(key, std::string_view(key));
  return store;
}

Names keys_of(const Source& source) {
  Names keys;
  for (int64_t id = 0; id < source.size(); ++id) {
    Record record;
    EXPECT_TRUE(source.as_samples()->load(id, {}, record).ok());
    keys.emplace_back(reinterpret_cast<const char*>(record[1].bytes.data()), record[1].bytes.size());
  }
  return keys;
}

Names found(const Names& keys, const std::string& pattern) {
  const auto source = open_files(store_of(keys), pattern, {});
  EXPECT_TRUE(source.ok()) << source.status().to_string();
  return source.ok() ? keys_of(**source) : Names();
}

}  // namespace

TEST(Files, KeysAreBelowTheFirstSpecialCharacterInByteOrder) {
  const Names keys = {"d/b.txt", "d/a.txt", "d/sub/c.txt", "d/sub/more/e.txt", "d/x.bin", "e/a.txt", "d/.hidden.txt"};
  EXPECT_EQ(found(keys, "d/*.txt"), (Names{"a.txt", "b.txt"}));
  EXPECT_EQ(found(keys, "d/**/*.txt"), (Names{"a.txt", "b.txt", "sub/c.txt", "sub/more/e.txt"}));
  EXPECT_EQ(found(keys, "d/*/*.txt"), Names{"sub/c.txt"});
  EXPECT_EQ(found(keys, "*/a.txt"), (Names{"d/a.txt", "e/a.txt"}));
  EXPECT_EQ(found(keys, "{e,d}/[ab].txt"), (Names{"d/a.txt", "d/b.txt", "e/a.txt"}));
  EXPECT_EQ(found(keys, "d/x.bin"), Names{"x.bin"});
  EXPECT_EQ(found(keys, "d/**"), (Names{"a.txt", "b.txt", "sub/c.txt", "sub/more/e.txt", "x.bin"}));
  EXPECT_EQ(found(keys, "d/{a*,*a.txt,b.txt}"), (Names{"a.txt", "b.txt"})) << "a file found twice is one sample";
}

TEST(Files, FetchNamesTheObject) {
  const auto store = store_of({"d/s-000.tar", "d/s-001.tar"});
  const auto source = open_files(store, "d/s-{000..001}.tar", {}).value();
  EXPECT_EQ(source->schema().names(), "bytes, key");
  const auto fetch = source->as_samples()->fetch(1);
  EXPECT_EQ(fetch.request.key, "d/s-001.tar");
  EXPECT_EQ(fetch.size, 11u);
  EXPECT_TRUE(read_wait(*fetch.store, fetch.request, {}).ok());
}

TEST(Files, NothingFoundNamesThePatternAndTheNearestFolder) {
  const auto expect = [](const Names& keys, const std::string& pattern, Code code, const Names& parts) {
    const Status status = open_files(store_of(keys), pattern, {}).status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    for (const auto& part : parts) EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  expect({"d/e/a"}, "d/e/f/*.txt", Code::kNotFound, {"'d/e/f/*.txt'", "'memory:d/e/'"});
  expect({"d/e/a"}, "d/e/*.txt", Code::kNotFound, {"'d/e/*.txt'", "'memory:d/e/'"});
  expect({"d/s-000", "d/s-002"}, "d/s-{000..002}", Code::kNotFound,
         {"'d/s-001'", "one of the names of 'd/s-{000..002}'"});
  expect({"a"}, "", Code::kInvalidArgument, {"empty"});

  ScratchFolder folder;
  folder.write("d/x", "1");
  const Status status = open_files(local_store(""), folder.path("d"), {}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("is a folder, not a file; for the files below a folder use"), std::string::npos)
      << status.message();
}

TEST(Files, AListKeepsItsOrderAndItsNames) {
  const auto store = store_of({"b", "a*", "x/y"});
  const auto source = open_file_list({store, "", ""}, {"x/y", "a*", "gone", "b", "b"}, {}).value();
  EXPECT_EQ(keys_of(*source), (Names{"x/y", "a*", "gone", "b", "b"}));
  EXPECT_EQ(source->as_samples()->fetch(0).size, 3u);
  const auto missing = source->as_samples()->fetch(2);
  EXPECT_EQ(read_wait(*store, missing.request, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(open_file_list({store, "", ""}, {"gone", "away"}, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(open_file_list({store, "", ""}, {}, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_file_list({store, "", ""}, {"s3://bucket/x"}, {}).status().code(), Code::kInvalidArgument);
}

TEST(OpenStore, KnowsPlainPathsAndFileUrls) {
  EXPECT_EQ(open_store("photos/train").value().path, "photos/train");
  EXPECT_EQ(open_store("file:///data/a%20b%C3%A9").value().path, "/data/a b\xc3\xa9");
  EXPECT_EQ(open_store("file://localhost/data").value().path, "/data");
  EXPECT_EQ(open_store("odd:name").value().path, "odd:name");
  EXPECT_EQ(open_store("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_store("file://data").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_store("file:///a%2").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_store("gs://b/x").status().code(), Code::kUnsupported);
  EXPECT_EQ(url_scheme("a b://x"), "");
}

TEST(Files, AFileIsIdentifiedHoweverItWasNamed) {
  ScratchFolder scratch;
  scratch.write("d/a.bin", "one");
  scratch.write("d/b.bin", "two");
  const auto store = local_store("");
  const auto by_pattern = open_files(store, scratch.path("d/*.bin"), {}, KeepVersions::kYes).value();
  const auto by_name = open_files(store, scratch.path("d/{a,b}.bin"), {}, KeepVersions::kYes).value();
  ASSERT_TRUE(by_pattern->identity(0));
  EXPECT_NE(by_pattern->identity(0), by_pattern->identity(1));
  EXPECT_EQ(by_pattern->identity(0), by_name->identity(0));
  EXPECT_FALSE(open_files(store, scratch.path("d/*.bin"), {}).value()->identity(0)) << "nobody asked for versions";
  const auto list =
      open_file_list({store, "", ""}, {scratch.path("d/b.bin"), scratch.path("d/none")}, {}, KeepVersions::kYes)
          .value();
  EXPECT_TRUE(list->identity(0));
  EXPECT_FALSE(list->identity(1)) << "there is no such file";
}

}  // namespace forebay
