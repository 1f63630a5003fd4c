#include "stream/ranks/record_notes.h"

#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::vector<RecordNote> some_notes() {
  return {{.offset = "17-0"},
          {.offset = "23-5", .gap = true, .missing = 4},
          {.offset = "23-5"},
          {.offset = "", .gap = true}};
}

TEST(RecordNotes, come_back_as_they_were) {
  EXPECT_EQ(*parse_notes(encode_notes(some_notes()).span()), some_notes());
  EXPECT_TRUE(parse_notes({})->empty());
}

TEST(RecordNotes, what_is_cut_off_or_none_is_refused) {
  const Buffer whole = encode_notes(some_notes());
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) refused += parse_notes(whole.span().first(size)).ok() ? 0 : 1;
  // But for those that end between two of them.
  EXPECT_EQ(refused, whole.size() - some_notes().size());
  const std::vector<uint8_t> unknown{2, 1, 0, 0, 0, 'a'}, nameless{0, 0, 0, 0, 0}, long_one{0, 255, 255, 0, 0, 'a'};
  const std::vector<uint8_t> negative{1, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0};
  for (const auto& bytes : {unknown, nameless, long_one, negative})
    EXPECT_EQ(parse_notes(bytes).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
