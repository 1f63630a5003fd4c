#include "format/files/split_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace forebay {
namespace {

using Points = std::vector<std::string>;

ListPage page_of(const std::vector<std::string>& keys, const std::vector<std::string>& folders = {}) {
  ListPage page;
  for (const std::string& key : keys) page.objects.push_back({key, 1});
  page.prefixes = folders;
  return page;
}

TEST(SplitPoints, TheLastNameIsTheGreatestByBytesWithoutAFoldersSlash) {
  EXPECT_EQ(last_name(page_of({})), "");
  EXPECT_EQ(last_name(page_of({"d/b", "d/a"})), "d/b");
  EXPECT_EQ(last_name(page_of({"d/b"}, {"d/c/"})), "d/c");
  EXPECT_EQ(last_name(page_of({"d/\xc3\xa9"}, {"d/z/"})), "d/\xc3\xa9") << "bytes are unsigned";
  EXPECT_EQ(last_name(page_of({"d/a.b"}, {"d/a/"})), "d/a.b") << "though 'd/a/' comes behind it";
}

TEST(SplitPoints, NumbersAreCutAtTheirGreaterDigits) {
  const ListPage page = page_of({"d/0000.jpg", "d/0500.jpg", "d/0999.jpg"});
  EXPECT_EQ(split_points("d/", page, "", 100), (Points{"d/1", "d/2", "d/3", "d/4", "d/5", "d/6", "d/7", "d/8", "d/9"}));
  EXPECT_EQ(split_points("d/", page, "", 3), (Points{"d/7", "d/8", "d/9"})) << "the far ones divide more";
  EXPECT_EQ(split_points("d/", page, "d/3", 100), (Points{"d/1", "d/2"})) << "another part begins there";
  EXPECT_TRUE(split_points("d/", page, "", 0).empty());
}

TEST(SplitPoints, HexadecimalNamesAreNotCutAtLettersThatTheyDoNotHave) {
  const Points points = split_points("", page_of({"00af", "0bc9", "0ffe"}), "", 100);
  EXPECT_EQ(points.back(), "f");
  EXPECT_TRUE(std::ranges::find(points, "a") != points.end());
  const Points words = split_points("", page_of({"aa", "ag", "az"}), "", 100);
  EXPECT_EQ(words.back(), "z") << "one letter beyond f, and all may come";
}

TEST(SplitPoints, WhereThereIsNothingToGoByThereIsNoCut) {
  EXPECT_TRUE(split_points("d/", page_of({}), "", 100).empty());
  EXPECT_TRUE(split_points("d/", page_of({"d/"}), "", 100).empty()) << "the folder's own marker";
  EXPECT_TRUE(split_points("d/", page_of({"d/\xc3\xa9", "d/\xc3\xb6"}), "", 100).empty()) << "no ASCII to count on";
}

// For any names, points are after the page, ascend, end before the next part and stay in the
// folder.
TEST(SplitPoints, EveryPointMayBeTheBeginOfAPart) {
  std::mt19937 random(11);
  const auto pick = [&](size_t n) { return random() % n; };
  const std::string alphabets[] = {"0123456789", "0123456789abcdef", "AZaz09-_. ", "\x7f\x80\xff\x01~", "ab/"};
  size_t given = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string& letters = alphabets[pick(std::size(alphabets))];
    const std::string folder = pick(2) ? "" : "d/e/";
    const auto name = [&] {
      std::string made = folder;
      for (size_t i = 0, n = 1 + pick(6); i < n; ++i) made += letters[pick(letters.size())];
      std::replace(made.begin() + static_cast<std::ptrdiff_t>(folder.size()), made.end(), '/', '+');
      return made;
    };
    ListPage page;
    for (size_t i = 0, n = pick(5); i < n; ++i) page.objects.push_back({name(), 1});
    for (size_t i = 0, n = pick(3); i < n; ++i) page.prefixes.push_back(name() + '/');
    const std::string last = last_name(page), until = pick(2) ? "" : last + name().back();
    const size_t count = pick(40);
    const Points points = split_points(folder, page, until, count);
    ASSERT_LE(points.size(), count);
    given += points.size();
    for (size_t i = 0; i < points.size(); ++i) {
      ASSERT_GT(points[i], i == 0 ? last : points[i - 1]) << round;
      ASSERT_TRUE(until.empty() || points[i] < until) << round;
      ASSERT_TRUE(points[i].starts_with(folder) && points[i].size() > folder.size()) << round;
      ASSERT_EQ(points[i].find('/', folder.size()), std::string::npos) << round;
    }
  }
  EXPECT_GT(given, 10'000u) << "there are some to look at";
}

}  // namespace
}  // namespace forebay
