#include "format/webdataset/sample_name.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::string split(std::string_view name) {
  const auto result = split_sample_name(name);
  if (!result.ok()) return std::string(code_name(result.status().code()));
  return *result ? std::string((*result)->base) + " + " + (*result)->extension : "none";
}

TEST(sample_name, the_first_dot_of_the_last_component_decides) {
  EXPECT_EQ(split("0001.jpg"), "0001 + jpg");
  EXPECT_EQ(split("0001.seg.png"), "0001 + seg.png");
  EXPECT_EQ(split("v1.2/train/0001.cls"), "v1.2/train/0001 + cls");
  EXPECT_EQ(split("./0001.txt"), "./0001 + txt");
  EXPECT_EQ(split("a.JPG"), "a + jpg");
}

TEST(sample_name, the_last_dot_decides_where_that_is_said) {
  const auto last = [](std::string_view name) {
    const auto result = split_sample_name(name, NameSplit::kLastDot);
    return *result ? std::string((*result)->base) + " + " + (*result)->extension : "none";
  };
  EXPECT_EQ(last("0001.jpg"), "0001 + jpg");
  EXPECT_EQ(last("v1.2/Track 2.0 (x).mp3"), "v1.2/Track 2.0 (x) + mp3");
  EXPECT_EQ(last("0001.seg.PNG"), "0001.seg + png");
  for (const std::string_view name : {".hidden.jpg", "a.b.", "README", "__meta__/x.json"})
    EXPECT_EQ(last(name), "none");
}

TEST(sample_name, what_belongs_to_no_sample_is_left_out) {
  for (const std::string_view name :
       {"README", "v1.2/README", ".hidden", "a/._0001.jpg", "a.", "", "__index__", "__meta__/x.json", "a/"})
    EXPECT_EQ(split(name), "none") << name;
  EXPECT_EQ(split("__x__.jpg"), "__x__ + jpg");
}

TEST(sample_name, paths_that_leave_their_folder_are_corrupt) {
  for (const std::string_view name : {"/etc/passwd.txt", "../a.jpg", "a/../../b.jpg", "a/..", ".."})
    EXPECT_EQ(split(name), "Corrupt") << name;
  for (const std::string_view name : {"..a/b.jpg", "a../b.jpg", "a/...b/c.jpg"})
    EXPECT_NE(split(name), "Corrupt") << name;
}

TEST(sample_name, the_last_part_of_an_extension_decides_the_type) {
  EXPECT_EQ(kind_of_extension("cls"), ExtensionKind::kInteger);
  EXPECT_EQ(kind_of_extension("left.cls"), ExtensionKind::kInteger);
  EXPECT_EQ(kind_of_extension("json"), ExtensionKind::kText);
  EXPECT_EQ(kind_of_extension("seg.png"), ExtensionKind::kBytes);
  EXPECT_EQ(kind_of_extension("txt.gz"), ExtensionKind::kBytes);
  for (const std::string_view pickle : {"pyd", "pickle", "pkl", "pth", "pt", "x.pyd"})
    EXPECT_EQ(kind_of_extension(pickle), ExtensionKind::kPickle) << pickle;
}

}  // namespace
}  // namespace forebay
