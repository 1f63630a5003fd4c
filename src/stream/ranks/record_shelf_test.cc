#include "stream/ranks/record_shelf.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "stream/record_bytes.h"

namespace forebay {
namespace {

constexpr uint64_t kRun = 3;
constexpr size_t kPayload = 100;

LogRecord shelf_record(size_t partition, int number) {
  LogRecord record;
  record.partition = partition;
  record.offset = std::to_string(number);
  record.key = "key " + record.offset;
  record.payload = Buffer::allocate(kPayload);
  std::fill_n(record.payload.data(), kPayload, static_cast<uint8_t>(number));
  return record;
}

std::vector<std::string> offsets_of(const std::optional<Buffer>& notes) {
  std::vector<std::string> offsets;
  if (!notes) return {"none"};
  const std::vector<RecordNote> parsed = *parse_notes(notes->span());
  for (const RecordNote& note : parsed) offsets.push_back((note.gap ? "gap " : "") + note.offset);
  return offsets;
}

class RecordShelfTest : public testing::Test {
 protected:
  void SetUp() override { shelf_.begin_run(kRun); }
  std::optional<Buffer> take_record(size_t partition, const std::string& offset) {
    return shelf_.take_record(kRun, partition, RecordShelf::hash_of(offset));
  }
  // Of three ranks the first; of what is late, two records of a hundred bytes.
  RecordShelf shelf_{2, 0, 3, {.late_bytes = 2 * kPayload, .note_bytes = 1 << 20}};
};

TEST_F(RecordShelfTest, all_other_ranks_are_told_all_and_each_record_goes_to_one) {
  shelf_.add({shelf_record(0, 1), shelf_record(0, 2), shelf_record(1, 1)}, {});
  shelf_.add({shelf_record(0, 5)}, {{.partition = 0, .records = 2, .until = "5"}});
  for (const int rank : {1, 2}) {
    EXPECT_EQ(offsets_of(shelf_.notes_from(kRun, rank, 0, 0)), (std::vector<std::string>{"1", "2", "gap 5", "5"}));
    EXPECT_EQ(offsets_of(shelf_.notes_from(kRun, rank, 0, 3)), (std::vector<std::string>{"5"}));
    EXPECT_EQ(shelf_.notes_from(kRun, rank, 0, 4), std::nullopt);
  }
  const std::optional<Buffer> bytes = take_record(0, "2");
  ASSERT_TRUE(bytes);
  const Result<LogRecord> record = parse_record(*bytes, 0);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->key, "key 2");
  EXPECT_EQ(record->payload.span()[0], 2);
  EXPECT_FALSE(take_record(0, "2")) << "it was given";
  EXPECT_FALSE(take_record(1, "2"));
  EXPECT_TRUE(take_record(1, "1"));
}

TEST_F(RecordShelfTest, what_all_have_been_told_takes_no_memory) {
  shelf_.add({shelf_record(0, 1), shelf_record(0, 2)}, {});
  for (int i = 1; i <= 2; ++i) shelf_.remove(shelf_record(0, i));
  const uint64_t before = shelf_.memory()->bytes();
  EXPECT_GT(before, 0U);
  (void)shelf_.notes_from(kRun, 1, 0, 2);
  EXPECT_EQ(shelf_.memory()->bytes(), before) << "the third rank may still ask";
  (void)shelf_.notes_from(kRun, 2, 0, 1);
  EXPECT_EQ(shelf_.memory()->bytes(), before / 2);
  EXPECT_TRUE(shelf_.notes_from(kRun, 2, 0, 0)->empty()) << "it said that it has this";
  EXPECT_EQ(offsets_of(shelf_.notes_from(kRun, 2, 0, 1)), (std::vector<std::string>{"2"}));
}

TEST_F(RecordShelfTest, ranks_that_lag_behind_find_some_records_and_not_the_oldest) {
  for (int i = 1; i <= 5; ++i) shelf_.add({shelf_record(0, i)}, {});
  const uint64_t whole = shelf_.memory()->bytes();
  shelf_.remove(shelf_record(0, 4));  // in a batch of this rank's own
  for (int i = 1; i <= 5; ++i) shelf_.on_release(shelf_record(0, i));
  const uint64_t place = shelf_record(0, 1).bytes() - kPayload;
  EXPECT_EQ(shelf_.memory()->bytes(), whole - 3 * place + 2 * kPayload);
  for (const char* const gone : {"1", "2", "4"}) EXPECT_FALSE(take_record(0, gone)) << gone;
  for (const char* const there : {"3", "5"}) EXPECT_TRUE(take_record(0, there)) << there;
  EXPECT_EQ(shelf_.memory()->bytes(), whole - 5 * place) << "what is left are notes";
}

TEST_F(RecordShelfTest, notes_that_nobody_comes_for_are_forgotten_and_who_comes_is_told) {
  RecordShelf shelf(1, 0, 3, {.late_bytes = 0, .note_bytes = 1000});
  shelf.begin_run(kRun);
  for (int i = 0; i < 5000; ++i) {
    shelf.add({shelf_record(0, i)}, {});
    shelf.remove(shelf_record(0, i));
    ASSERT_LE(shelf.memory()->bytes(), 1000U);
    // Rank 1 keeps up; rank 2 is gone.
    ASSERT_EQ(offsets_of(shelf.notes_from(kRun, 1, 0, static_cast<uint64_t>(i))),
              std::vector<std::string>{std::to_string(i)});
  }
  const std::optional<Buffer> told = shelf.notes_from(kRun, 2, 0, 0);
  ASSERT_TRUE(told) << "not that they are coming";
  EXPECT_TRUE(told->empty());
}

// Its list of what is late would otherwise grow with every record that is fetched late.
TEST_F(RecordShelfTest, forgets_what_was_fetched_late) {
  shelf_.add({shelf_record(1, 0)}, {});
  shelf_.on_release(shelf_record(1, 0));  // nobody ever comes for it
  for (int i = 1; i < 1000; ++i) {
    shelf_.add({shelf_record(0, i)}, {});
    shelf_.on_release(shelf_record(0, i));
    ASSERT_TRUE(take_record(0, std::to_string(i)));
  }
  EXPECT_TRUE(take_record(1, "0"));
}

TEST_F(RecordShelfTest, gives_nothing_to_another_run_or_a_rank_that_is_none) {
  shelf_.add({shelf_record(0, 1)}, {});
  EXPECT_FALSE(shelf_.notes_from(kRun + 1, 1, 0, 0));
  EXPECT_FALSE(shelf_.notes_from(kRun, 3, 0, 0));
  EXPECT_FALSE(shelf_.notes_from(kRun, -1, 0, 0));
  EXPECT_FALSE(shelf_.notes_from(kRun, 1, 2, 0));
  EXPECT_FALSE(shelf_.take_record(kRun + 1, 0, RecordShelf::hash_of("1")));
  EXPECT_FALSE(shelf_.take_record(kRun, 2, RecordShelf::hash_of("1")));
  shelf_.begin_run(kRun + 1);
  EXPECT_FALSE(shelf_.notes_from(kRun + 1, 1, 0, 0));
  EXPECT_EQ(shelf_.memory()->bytes(), 0U);
}

}  // namespace
}  // namespace forebay
