#include "stream/ranks/record_notes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "stream/ranks/rank_questions.h"

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
  const std::vector<uint8_t> unknown{2, 1, 0, 'a'}, nameless{0, 0, 0}, long_one{0, 255, 255, 'a'};
  const std::vector<uint8_t> negative{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80};
  for (const auto& bytes : {unknown, nameless, long_one, negative})
    EXPECT_EQ(parse_notes(bytes).status().code(), Code::kCorrupt);
}

TEST(RankQuestions, say_what_they_are_about) {
  const RankKey asked{RankQuestion::kNotes, 0xabcdef, 7, NotesPlace{0x123456, 0xfedcba9876}.number()};
  const std::optional<RankKey> found = RankKey::from(asked.key());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, RankQuestion::kNotes);
  EXPECT_EQ(found->rank, 0xabcdef);
  EXPECT_EQ(found->seeks, 7U);
  const NotesPlace place = NotesPlace::from_number(found->number);
  EXPECT_EQ(place.partition, 0x123456U);
  EXPECT_EQ(place.from, 0xfedcba9876U);
  EXPECT_FALSE(RankKey::from({0, 1}));
  EXPECT_FALSE(RankKey::from({UINT64_MAX, 1}));
}

// Kinds are no numbers that follow each other: a record of the next run was once taken for a rank that leaves this one.
TEST(RankQuestions, of_different_kinds_and_runs_are_never_the_same) {
  std::vector<std::pair<uint64_t, uint64_t>> keys;
  for (int what = 1; what <= 6; ++what)
    for (const uint64_t seeks : {0, 1, 2})
      for (const int rank : {0, 1, 2}) {
        const Hash128 key = RankKey{static_cast<RankQuestion>(what), rank, seeks, 1}.key();
        keys.emplace_back(key.high, key.low);
      }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

}  // namespace
}  // namespace forebay
