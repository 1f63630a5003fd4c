#include "forebay/string_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay {
namespace {

std::vector<std::string> strings_of(const StringList& list) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < list.size(); ++i) strings.emplace_back(list.text(i));
  return strings;
}

std::vector<uint8_t> run_of(std::vector<uint32_t> offsets, std::string_view bytes) {
  std::vector<uint8_t> run(offsets.size() * sizeof(uint32_t));
  std::memcpy(run.data(), offsets.data(), run.size());
  run.insert(run.end(), bytes.begin(), bytes.end());
  return run;
}

TEST(StringList, gives_back_what_was_packed) {
  const std::vector<std::vector<std::string_view>> lists = {
      {}, {""}, {"a"}, {"ab", "", "straße", std::string_view("\0x", 2)}};
  for (const auto& strings : lists) {
    const Tensor run = StringList::pack(strings).value();
    ASSERT_TRUE(StringList::is_valid(run.buffer.span()));
    const StringList list(run.buffer.span());
    EXPECT_EQ(strings_of(list), std::vector<std::string>(strings.begin(), strings.end()));
    size_t bytes = 0;
    for (const std::string_view string : strings) bytes += string.size();
    EXPECT_EQ(list.bytes().size(), bytes);
    EXPECT_EQ(run.nbytes(), StringList::run_bytes(strings.size(), bytes));
  }
}

TEST(StringList, no_bytes_are_an_empty_list) {
  EXPECT_TRUE(StringList::is_valid({}));
  EXPECT_EQ(StringList().size(), 0u);
  EXPECT_TRUE(StringList().bytes().empty());
}

TEST(StringList, is_read_wherever_it_lies) {
  const std::vector<std::string_view> strings = {"one", "two"};
  const Tensor run = StringList::pack(strings).value();
  std::vector<uint8_t> moved(run.nbytes() + 1);
  std::memcpy(moved.data() + 1, run.buffer.data(), run.nbytes());
  EXPECT_EQ(strings_of(StringList(std::span(moved).subspan(1))), (std::vector<std::string>{"one", "two"}));
}

TEST(StringList, knows_bytes_that_are_none) {
  EXPECT_TRUE(StringList::is_valid(run_of({8, 10}, "ab")));
  EXPECT_FALSE(StringList::is_valid(run_of({8, 11}, "ab"))) << "ends behind the bytes";
  EXPECT_FALSE(StringList::is_valid(run_of({8, 9}, "ab"))) << "bytes that belong to nobody";
  EXPECT_FALSE(StringList::is_valid(run_of({12, 14, 13}, "a"))) << "an offset that falls";
  EXPECT_FALSE(StringList::is_valid(run_of({0}, ""))) << "not even its own offset";
  EXPECT_FALSE(StringList::is_valid(run_of({6, 8}, ""))) << "half an offset";
  EXPECT_FALSE(StringList::is_valid(run_of({400, 400}, ""))) << "more offsets than bytes";
  EXPECT_FALSE(StringList::is_valid(std::vector<uint8_t>(3)));
}

}  // namespace
}  // namespace forebay
