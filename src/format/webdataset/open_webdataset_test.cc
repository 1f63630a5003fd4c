#include "format/webdataset/open_webdataset.h"

#include <gtest/gtest.h>

#include "base/data_warnings.h"
#include "format/webdataset/tar_test_support.h"
#include "store/memory/memory_store.h"

namespace forebay::tar_test {
namespace {

using Samples = std::vector<std::string>;
using Opened = Result<std::shared_ptr<const ChunkSource>>;

struct Shards {
  std::shared_ptr<MemoryStore> store = memory_store();

  void put(const std::string& key, const std::string& tar) { store->put(key, tar); }
  Opened open(const std::string& pattern, const WebdatasetRequest& request = {}) const {
    return open_webdataset({store, pattern, ""}, request, {});
  }
  Samples samples(const WebdatasetRequest& request = {}) const {
    const Opened opened = open("*.tar", request);
    return opened.ok() ? samples_of(**opened) : Samples{opened.status().to_string()};
  }
};

std::vector<ShardField> fields(std::vector<std::pair<std::string, std::vector<std::string>>> named,
                               const std::vector<std::string>& optional = {}) {
  std::vector<ShardField> made;
  for (auto& [name, extensions] : named)
    made.push_back({name, extensions, std::ranges::find(optional, name) != optional.end()});
  return made;
}

void expect_error(const Status& status, Code code, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  for (const auto& part : parts)
    EXPECT_NE(status.to_string().find(part), std::string::npos) << part << "\nin " << status.to_string();
}

TEST(open_webdataset, ids_count_the_samples_of_shards_in_byte_order_of_their_keys) {
  Shards shards;
  shards.put("b.tar", numbered_shard(2, 2, 3));
  shards.put("a.tar", numbered_shard(0, 2, 3));
  EXPECT_EQ(shards.samples(), (Samples{"cls=0|jpg=aaa|key=000", "cls=1|jpg=bbb|key=001", "cls=2|jpg=ccc|key=002",
                                       "cls=3|jpg=ddd|key=003"}));
  EXPECT_EQ((*shards.open("*.tar"))->key(3), "memory:b.tar sample 1");
}

TEST(open_webdataset, lists_are_in_byte_order_too) {
  Shards shards;
  shards.put("b.tar", numbered_shard(2, 1, 3));
  shards.put("a.tar", numbered_shard(0, 1, 3));
  const Opened opened =
      open_webdataset({shards.store, "b.tar", ""}, {.is_list = true, .names = {"b.tar", "a.tar"}}, {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(samples_of(**opened), (Samples{"cls=0|jpg=aaa|key=000", "cls=2|jpg=ccc|key=002"}));
}

TEST(open_webdataset, chunks_are_samples_of_one_shard_and_no_larger_than_said) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 10));
  shards.put("b.tar", numbered_shard(10, 1));
  const auto source = shards.open("*.tar", {.chunk_bytes = 3 * 2048 + 1}).value();
  ASSERT_EQ(source->chunks(), 5);  // 3 + 3 + 3 + 1, 1
  for (int64_t chunk = 0; chunk < source->chunks(); ++chunk)
    EXPECT_LE(source->chunk_cost(chunk).fetched_bytes, 3u * 2048);
  EXPECT_EQ(source->chunk_begin(4), 10);
  EXPECT_EQ(source->chunk_name(1), "memory:a.tar, bytes 6144 to 12288");
}

TEST(open_webdataset, samples_are_the_same_for_chunks_of_any_size) {
  Shards shards;
  shards.put("a.tar", entry("x", "aside") + numbered_shard(0, 9));
  const Samples all = shards.samples();
  EXPECT_EQ(all.size(), 9u);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{2048}, uint64_t{5000}, UINT64_MAX})
    EXPECT_EQ(shards.samples({.chunk_bytes = bytes}), all) << bytes;
}

TEST(open_webdataset, what_decoding_takes_is_known_before) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 10, 1000));
  const auto source = shards.open("*.tar").value();
  const Columns columns = decoded(*source, 0).value();
  EXPECT_LE(columns.nbytes(), source->chunk_cost(0).decoded_bytes);
  EXPECT_LT(source->chunk_cost(0).decoded_bytes, columns.nbytes() + 2000);
  EXPECT_TRUE(columns.check().ok());
}

TEST(open_webdataset, a_field_is_the_first_of_its_extensions_that_a_sample_has) {
  Shards shards;
  shards.put("a.tar", tar_of({{"0.png", "png 0"}, {"0.jpg", "jpg 0"}, {"1.png", "png 1"}}));
  EXPECT_EQ(shards.samples({.fields = fields({{"image", {"jpg", "png"}}})}),
            (Samples{"image=jpg 0|key=0", "image=png 1|key=1"}));
}

TEST(open_webdataset, a_sample_that_lacks_a_field_is_bad_unless_it_is_optional) {
  Shards shards;
  shards.put("a.tar", tar_of({{"0.txt", "zero"}, {"0.cls", "0"}, {"1.txt", "one"}, {"2.cls", "2"}}));
  const Samples samples = shards.samples();
  EXPECT_EQ(samples[0], "cls=0|txt=zero|key=0");
  EXPECT_NE(samples[1].find("Corrupt: memory:a.tar: 1: has no cls"), std::string::npos) << samples[1];
  EXPECT_EQ(shards.samples({.optional = {"cls", "txt"}}),
            (Samples{"cls=0|cls_valid=yes|txt=zero|txt_valid=yes|key=0",
                     "cls=0|cls_valid=no|txt=one|txt_valid=yes|key=1", "cls=2|cls_valid=yes|txt=|txt_valid=no|key=2"}));
}

TEST(open_webdataset, values_that_are_none_of_their_type_make_a_row_bad) {
  Shards shards;
  shards.put(
      "a.tar",
      tar_of(
          {{"0.cls", "seven"}, {"1.cls", " -7\n"}, {"2.cls", "99999999999999999999"}, {"3.cls", ""}, {"4.cls", "+4"}}));
  const Samples samples = shards.samples();
  for (const size_t bad : {0, 2, 3})
    EXPECT_NE(samples[bad].find("'cls' is no whole number"), std::string::npos) << samples[bad];
  EXPECT_EQ(samples[1], "cls=-7|key=1");
  EXPECT_EQ(samples[4], "cls=4|key=4");
}

TEST(open_webdataset, text_that_is_not_utf8_and_a_field_twice_make_a_row_bad) {
  Shards shards;
  shards.put("a.tar", tar_of({{"0.txt", "\xff"}, {"1.txt", "é"}, {"2.txt", "a"}, {"2.TXT", "b"}}));
  const Samples samples = shards.samples();
  EXPECT_NE(samples[0].find("'txt' is not UTF-8"), std::string::npos) << samples[0];
  EXPECT_EQ(samples[1], "txt=é|key=1");
  EXPECT_NE(samples[2].find("more than one file 'txt'"), std::string::npos) << samples[2];
}

TEST(open_webdataset, pickles_are_refused_unless_they_are_left_out) {
  Shards shards;
  shards.put("a.tar", tar_of({{"0.txt", "zero"}, {"0.pyd", "cos\nsystem\n"}}));
  expect_error(shards.open("*.tar").status(), Code::kUnsupported,
               {"memory:a.tar", "'.pyd'", "runs what it says", "fields="});
  EXPECT_EQ(shards.samples({.fields = fields({{"txt", {"txt"}}})}), Samples{"txt=zero|key=0"});
  expect_error(check_shard_fields(fields({{"x", {"pyd"}}})), Code::kUnsupported, {"pickle"});
}

TEST(open_webdataset, fields_that_no_shard_has_are_a_mistake) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 2));
  expect_error(shards.open("*.tar", {.fields = fields({{"image", {"jpgg"}}})}).status(), Code::kInvalidArgument,
               {"jpgg", "did you mean", "jpg"});
  expect_error(shards.open("*.tar", {.optional = {"clss"}}).status(), Code::kInvalidArgument, {"clss", "cls"});
}

TEST(open_webdataset, names_that_would_meet_are_a_mistake) {
  expect_error(check_shard_fields(fields({{"key", {"txt"}}})), Code::kInvalidArgument, {"two fields 'key'"});
  expect_error(check_shard_fields(fields({{"a", {"txt"}}, {"a_valid", {"cls"}}}, {"a"})), Code::kInvalidArgument,
               {"two fields 'a_valid'"});
  expect_error(check_shard_fields(fields({{"a", {"txt", "cls"}}})), Code::kInvalidArgument, {"two types"});
  expect_error(check_shard_fields(fields({{"a", {}}})), Code::kInvalidArgument, {"no extension"});
}

TEST(open_webdataset, all_damaged_shards_are_told_at_once) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 2));
  shards.put("b.tar", numbered_shard(0, 2).substr(0, 1000));
  shards.put("c.tar", std::string(2048, 'x'));
  expect_error(shards.open("*.tar").status(), Code::kCorrupt,
               {"2 of 3 shards", "memory:b.tar: at byte 1000", "memory:c.tar: expected a tar, found text"});
  expect_error(shards.open("b.tar").status(), Code::kCorrupt, {"memory:b.tar", "cut off", "leave it out"});
}

TEST(open_webdataset, compressed_shards_are_refused_with_the_way_out) {
  Shards shards;
  shards.put("a.tar", "\x1f\x8b" + std::string(2000, 'z'));
  expect_error(shards.open("a.tar").status(), Code::kUnsupported, {"compressed", "gunzip"});
}

TEST(open_webdataset, fewer_fields_are_the_same_values) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 2, 3));
  const auto source = shards.open("*.tar", {.optional = {"cls"}}).value();
  const std::vector<std::string> names = {"key", "cls_valid"};
  const auto fewer = source->with_fields(names).value();
  EXPECT_EQ(samples_of(*fewer), (Samples{"key=000|cls_valid=yes", "key=001|cls_valid=yes"}));
  EXPECT_LT(fewer->chunk_cost(0).decoded_bytes, source->chunk_cost(0).decoded_bytes);
  const std::vector<std::string> unknown = {"jgp"};
  expect_error(source->with_fields(unknown).status(), Code::kInvalidArgument, {"'jgp'", "jpg"});
}

TEST(open_webdataset, the_version_is_that_of_the_shards_names_sizes_and_samples) {
  Shards one, same, other;
  one.put("a.tar", numbered_shard(0, 2, 3));
  same.put("a.tar", numbered_shard(0, 2, 3));
  other.put("a.tar", numbered_shard(0, 2, 4));
  EXPECT_EQ((*one.open("*.tar"))->version(), (*same.open("a.tar"))->version());
  EXPECT_FALSE((*one.open("*.tar"))->version() == (*other.open("*.tar"))->version());
  EXPECT_FALSE((*one.open("*.tar"))->version() == (*one.open("*.tar", {.chunk_bytes = 1}))->version());
}

TEST(open_webdataset, a_shard_that_changes_under_a_run_is_corrupt) {
  Shards shards;
  shards.put("a.tar", numbered_shard(0, 4, 10));
  const auto source = shards.open("*.tar").value();
  const std::string other = tar_of({{"0.jpg", "x"},
                                    {"0.cls", "1"},
                                    {"1.jpg", "x"},
                                    {"1.cls", "1"},
                                    {"2.jpg", "x"},
                                    {"2.cls", "1"},
                                    {"3.jpg", "x"},
                                    {"3.cls", "1"}});
  ASSERT_EQ(other.size(), numbered_shard(0, 4, 10).size());
  for (const std::string& now : {other, std::string(other.size(), '\0'), std::string(other.size(), 'x'),
                                 numbered_shard(0, 3) + std::string(2048, '\0')}) {
    shards.put("a.tar", now);
    expect_error(decoded(*source, 0).status(), Code::kCorrupt, {"memory:a.tar"});
  }
}

TEST(open_webdataset, links_give_the_bytes_that_they_lead_to_in_chunks_of_any_size) {
  const auto link = [](const char* name, const char* target, char type) {
    std::string block = header(name, 0, type);
    block.replace(157, std::strlen(target), target);
    seal(block);
    return block;
  };
  Shards shards;
  shards.put("a.tar", entry("0.jpg", "zero") + entry("0.cls", "0") + link("1.jpg", "0.jpg", '1') + entry("1.cls", "1") +
                          link("2.jpg", "3.jpg", '2') + entry("2.cls", "2") + entry("3.jpg", "three") +
                          link("3.cls", "gone.cls", '2') + end_of_tar());
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{3000}, uint64_t{1} << 20}) {
    const Samples samples = shards.samples({.chunk_bytes = bytes});
    ASSERT_EQ(samples.size(), 4u);
    EXPECT_EQ(samples[1], "cls=1|jpg=zero|key=1");
    EXPECT_EQ(samples[2], "cls=2|jpg=three|key=2");
    EXPECT_NE(samples[3].find("NotFound: memory:a.tar: 3: 'cls' is a link to a file that is not in the shard"),
              std::string::npos)
        << samples[3];
  }
  // The target of a link is checked against its header as well.
  const auto source = shards.open("*.tar", {.chunk_bytes = 1}).value();
  std::string other =
      entry("0.jpg", "longer than that") + entry("0.cls", "0") + link("1.jpg", "0.jpg", '1') + entry("1.cls", "1");
  other.resize(6 * 1024 + 512 + 2 * 512 + 1024, '\0');
  shards.put("a.tar", other);
  expect_error(decoded(*source, 1).status(), Code::kCorrupt, {"memory:a.tar", "changed"});
}

TEST(open_webdataset, messages_say_what_a_sample_has_and_by_which_rule) {
  Shards shards;
  shards.put("a.tar", tar_of({{"Track 2.0.mp3", "x"}, {"Track 2.0.txt", "y"}, {"Song.mp3", "x"}, {"Song.txt", "y"}}));
  const auto wanted = fields({{"mp3", {"mp3"}}, {"txt", {"txt"}}});
  EXPECT_NE(shards.samples({.fields = wanted})[0].find("has no mp3; it has 0.mp3, 0.txt; names end at the first dot"),
            std::string::npos);
  EXPECT_EQ(shards.samples({.fields = wanted, .split = NameSplit::kLastDot}),
            (Samples{"mp3=x|txt=y|key=Track 2.0", "mp3=x|txt=y|key=Song"}));
  shards.put("a.tar", tar_of({{"0.mp3", "x"}, {"1.mp3", "x"}, {"0.txt", "y"}, {"1.txt", "y"}}));
  for (const std::string& sample : shards.samples({.fields = wanted}))
    EXPECT_NE(sample.find("must follow each other in the tar, and in this shard 2 samples bear"), std::string::npos)
        << sample;
}

TEST(open_webdataset, what_is_left_out_is_told) {
  Shards shards;
  shards.put("a.tar", entry("README", "x") + entry("0.txt", "a") + entry("LICENSE", "x") + header("pipe.txt", 0, '6') +
                          end_of_tar() + "rest");
  shards.put("b.tar", end_of_tar());
  DataWarnings warnings;
  ASSERT_TRUE(
      open_webdataset({.store = shards.store, .path = "*.tar", .name = "", .warnings = &warnings}, {}, {}).ok());
  std::string told;
  for (const DataWarning& one : warnings.list()) told += fmt::format("{} {} {}\n", one.kind, one.count, one.first);
  EXPECT_EQ(told,
            "bytes_behind_tar 4 memory:a.tar\ndevice_members 1 memory:a.tar: pipe.txt\n"
            "members_without_field 2 memory:a.tar: README\nshards_without_samples 1 memory:b.tar\n");
  shards.put("a.tar", entry("README", "x") + end_of_tar());
  expect_error(shards.open("*.tar").status(), Code::kNotFound, {"no sample in 2 tar shards", "README"});
}

TEST(open_webdataset, shards_without_samples_are_taken) {
  Shards shards;
  shards.put("a.tar", end_of_tar());
  shards.put("b.tar", numbered_shard(0, 1, 3));
  shards.put("c.tar", entry("README", "x") + end_of_tar());
  EXPECT_EQ(shards.samples(), Samples{"cls=0|jpg=aaa|key=000"});
  EXPECT_EQ((*shards.open("*.tar"))->key(0), "memory:b.tar sample 0");
}

}  // namespace
}  // namespace forebay::tar_test
