#include "stream/record_queue.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

LogRecord record_of(int number, size_t bytes = 100) {
  LogRecord record{0, std::to_string(number), "key " + std::to_string(number)};
  record.payload = Buffer::allocate(bytes);
  std::fill_n(record.payload.data(), bytes, static_cast<uint8_t>(number));
  return record;
}

// Disk space whose file system has as much room as the test says.
class RecordQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const std::string& line) { warnings_.push_back(line); });
  }
  void TearDown() override { set_log_sink(nullptr); }

  std::shared_ptr<SpillSpace> space(uint64_t budget = uint64_t{1} << 30) {
    const auto write = [this](int file, const void* bytes, size_t size, uint64_t at) {
      errno = error_;
      return error_ == 0 && write_all(file, bytes, size, at);
    };
    return *SpillSpace::open(testing::TempDir(), budget, write, clock_);
  }
  static void push(RecordQueue& queue, int from, int to, bool spill) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(queue.push(record_of(i), static_cast<uint64_t>(i), spill).ok());
  }
  static void expect_pops(RecordQueue& queue, int from, int to) {
    for (int i = from; i < to; ++i) {
      const Result<LogRecord> record = queue.pop();
      ASSERT_TRUE(record.ok()) << record.status().to_string();
      EXPECT_EQ(record->offset, std::to_string(i));
      EXPECT_EQ(record->key, "key " + std::to_string(i));
      ASSERT_EQ(record->payload.size(), 100u);
      EXPECT_EQ(record->payload.data()[99], static_cast<uint8_t>(i));
    }
  }

  int error_ = 0;
  ManualClock clock_;
  std::vector<std::string> warnings_;
};

TEST_F(RecordQueueTest, without_a_disk_all_records_wait_in_memory) {
  RecordQueue queue(nullptr, 0);
  push(queue, 0, 5, true);
  EXPECT_EQ(queue.size(), 5u);
  EXPECT_EQ(queue.first_number(), 0u);
  EXPECT_EQ(queue.bytes(), 5 * record_of(0).bytes());
  expect_pops(queue, 0, 2);
  EXPECT_EQ(queue.first_number(), 2u);
  expect_pops(queue, 2, 5);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST_F(RecordQueueTest, no_record_overtakes_those_on_disk) {
  const auto disk = space();
  RecordQueue queue(disk, 0);
  push(queue, 0, 3, false);
  push(queue, 3, 6, true);
  push(queue, 6, 9, false);  // there is memory again
  EXPECT_EQ(queue.size(), 9u);
  EXPECT_EQ(queue.bytes(), 3 * record_of(0).bytes()) << "the others are on disk";
  EXPECT_GT(disk->used(), 6 * 100u);
  expect_pops(queue, 0, 9);
  EXPECT_EQ(disk->used(), 0u) << "what was read back takes no space";
  push(queue, 9, 11, false);
  EXPECT_EQ(disk->used(), 0u) << "none is on disk, so memory comes first again";
  expect_pops(queue, 9, 11);
}

TEST_F(RecordQueueTest, records_alternate_with_reads_across_the_files_of_a_disk) {
  const auto disk = space();
  RecordQueue queue(disk, 0);
  const auto large = [](int number) { return record_of(number, 5 << 20); };
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(queue.push(large(i), static_cast<uint64_t>(i), true).ok());
  const uint64_t all = disk->used();
  for (int i = 0; i < 12; ++i) {
    const Result<LogRecord> record = queue.pop();
    ASSERT_TRUE(record.ok()) << record.status().to_string();
    ASSERT_EQ(record->payload.size(), size_t{5} << 20);
    EXPECT_EQ(record->payload.data()[(5 << 20) - 1], i);
    ASSERT_TRUE(queue.push(large(100 + i), static_cast<uint64_t>(100 + i), true).ok());
    EXPECT_LT(disk->used(), all + (25 << 20)) << "files are freed as they are read";
  }
  EXPECT_EQ(queue.pop()->offset, "100");
}

TEST_F(RecordQueueTest, records_that_a_full_disk_does_not_take_go_there_later) {
  const auto disk = space();
  RecordQueue queue(disk, 0);
  push(queue, 0, 2, true);
  error_ = ENOSPC;
  push(queue, 2, 5, true);
  EXPECT_EQ(queue.unspilled(), 3u);
  EXPECT_EQ(queue.bytes(), 3 * record_of(0).bytes());
  EXPECT_EQ(warnings_.size(), 1u) << "the disk is said to be full once";
  EXPECT_FALSE(disk->may_try()) << "not at once";
  clock_.advance(250ms);
  EXPECT_TRUE(disk->may_try());
  EXPECT_TRUE(queue.spill_remaining().ok());
  EXPECT_EQ(queue.unspilled(), 3u) << "it is still full";
  error_ = 0;
  push(queue, 5, 6, true);
  EXPECT_EQ(queue.unspilled(), 4u) << "a record must not overtake unspilled ones";
  EXPECT_TRUE(queue.spill_remaining().ok());
  EXPECT_EQ(queue.unspilled(), 0u);
  EXPECT_EQ(queue.bytes(), 0u);
  expect_pops(queue, 0, 6);
}

TEST_F(RecordQueueTest, unspilled_records_come_from_memory_if_the_disk_stays_full) {
  RecordQueue queue(space(), 0);
  push(queue, 0, 2, true);
  error_ = EDQUOT;
  push(queue, 2, 4, true);
  expect_pops(queue, 0, 4);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST_F(RecordQueueTest, a_disk_that_fails_otherwise_ends_the_run_with_a_remedy) {
  RecordQueue queue(space(), 0);
  error_ = EIO;
  const Status failed = queue.push(record_of(0), 0, true);
  EXPECT_EQ(failed.code(), Code::kUnavailable);
  EXPECT_NE(failed.message().find("give .buffer(\"spill\", dir=) another folder"), std::string::npos)
      << failed.message();
  EXPECT_TRUE(queue.empty()) << "the record is not in it";
}

TEST_F(RecordQueueTest, a_folder_in_which_nothing_can_be_written_is_found_at_once) {
  const Status missing = SpillSpace::open("/none/such", 1 << 20).status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_NE(missing.message().find("/none/such"), std::string::npos) << missing.message();
}

TEST_F(RecordQueueTest, the_budget_of_a_disk_keeps_room_for_one_read) {
  const auto disk = space(4'000);
  RecordQueue queue(disk, 0);
  EXPECT_TRUE(disk->has_room());
  int pushed = 0;
  while (disk->has_room()) push(queue, pushed, pushed + 1, true), ++pushed;
  EXPECT_GE(disk->used(), 3'000u);
  EXPECT_LT(disk->used(), 4'000u);
  expect_pops(queue, 0, pushed);
  EXPECT_TRUE(disk->has_room());
}

TEST_F(RecordQueueTest, a_queue_that_goes_gives_its_disk_space_back) {
  const auto disk = space();
  {
    RecordQueue queue(disk, 0);
    push(queue, 0, 10, true);
    EXPECT_GT(disk->used(), 0u);
  }
  EXPECT_EQ(disk->used(), 0u);
}

}  // namespace
}  // namespace forebay
