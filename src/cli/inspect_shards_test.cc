#include "cli/inspect_shards.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TarIndex two_samples() {
  TarIndex index;
  index.extensions = {"jpg", "cls", "pyd"};
  index.samples = {{0, 0, 1}, {3072, 3, 1}};
  index.files = {{0, 1, 600}, {1, 1, 1}, {2, 1, 5}, {0, 1, 100}};
  index.end = 4096;
  return index;
}

ShardsReport report_of_two() {
  ShardsReport report;
  report.url = "a.tar";
  report.add(10'240, two_samples());
  report.add(512, TarIndex());
  return report;
}

TEST(inspect_shards, only_names_that_all_end_in_tar_are_shards) {
  const std::vector<std::string> shards = {"a.tar", "s3://b/{000..099}.tar"}, mixed = {"a.tar", "photos"};
  EXPECT_TRUE(are_shards(shards));
  EXPECT_FALSE(are_shards(mixed));
}

TEST(inspect_shards, json_counts_what_there_is_and_what_is_missing) {
  const SortedJson json = report_of_two().to_json();
  EXPECT_EQ(json["count"], 2);
  EXPECT_EQ(json["shards"], 2);
  EXPECT_EQ(json["bytes"]["total"], 10'752);
  EXPECT_EQ(json["bytes"]["sample"]["max"], 3072);
  EXPECT_EQ(json["shard_samples"]["min"], 0);
  EXPECT_EQ(json["extensions"]["jpg"]["files"], 2);
  EXPECT_EQ(json["extensions"]["cls"]["missing"], 1);
  EXPECT_EQ(json["extensions"]["cls"]["becomes"], "int64");
  EXPECT_EQ(json["extensions"]["pyd"]["becomes"], "refused");
}

TEST(inspect_shards, the_text_says_the_same) {
  const std::string text = report_of_two().to_text();
  for (const std::string_view part :
       {"a.tar: 2 samples in 2 shards", "jpg         bytes, 100 B to 600 B", "1 samples have none", "a pickle"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
}

}  // namespace
}  // namespace forebay
