#include "format/webdataset/tar_links.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(tar_links, paths_are_made_plain) {
  EXPECT_EQ(normalize_tar_path("./a//b/../c"), "a/c");
  EXPECT_EQ(normalize_tar_path("a/.."), "");
  EXPECT_FALSE(normalize_tar_path("/a"));
  EXPECT_FALSE(normalize_tar_path("a/../../b"));
}

struct Member {
  const char* name;
  TarMember::Kind kind = TarMember::Kind::kFile;
  const char* link = "";
};
constexpr auto kHard = TarMember::Kind::kHardLink, kSymbolic = TarMember::Kind::kSymbolicLink;

/// For each link, the index of the member that it leads to; -1 for none.
std::vector<int> targets(const std::vector<Member>& members) {
  std::vector<TarMember> all;
  for (const Member& one : members) {
    const uint64_t begin = 1024 * all.size();
    all.push_back({one.name, one.link, one.kind, begin, begin + 512, 7});
  }
  TarLinks links;
  std::vector<size_t> numbers;
  for (const TarMember& member : all) {
    if (member.is_link()) numbers.push_back(links.add(member));
  }
  for (const TarMember& member : all) links.record_member(member);
  std::vector<int> found;
  for (const size_t number : numbers) {
    const auto target = links.target(number);
    found.push_back(target ? static_cast<int>(target->data / 1024) : -1);
  }
  return found;
}

TEST(tar_links, hard_links_lead_to_the_last_file_before_and_symbolic_ones_to_the_last) {
  EXPECT_EQ(targets({{"a"}, {"h", kHard, "./a"}, {"s", kSymbolic, "a"}, {"a"}}), (std::vector<int>{0, 3}));
  EXPECT_EQ(targets({{"h", kHard, "a"}, {"a"}}), std::vector<int>{-1});
}

TEST(tar_links, symbolic_links_begin_in_their_folder_and_hard_ones_at_the_top) {
  EXPECT_EQ(targets({{"d/a"},
                     {"d/s", kSymbolic, "a"},
                     {"e/s", kSymbolic, "../d/a"},
                     {"e/h", kHard, "d/a"},
                     {"d/t", kSymbolic, "/d/a"}}),
            (std::vector<int>{0, 0, 0, -1}));
}

TEST(tar_links, links_to_links_are_followed_and_circles_lead_nowhere) {
  EXPECT_EQ(targets({{"1", kSymbolic, "2"}, {"2", kSymbolic, "3"}, {"3"}}), (std::vector<int>{2, 2}));
  EXPECT_EQ(targets({{"1", kSymbolic, "2"}, {"2", kSymbolic, "1"}, {"3", kSymbolic, "3"}}),
            (std::vector<int>{-1, -1, -1}));
}

TEST(tar_links, a_folder_is_no_file) {
  EXPECT_EQ(targets({{"d/", TarMember::Kind::kFolder}, {"s", kSymbolic, "d"}}), std::vector<int>{-1});
}

}  // namespace
}  // namespace forebay
