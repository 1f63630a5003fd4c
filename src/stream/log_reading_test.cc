#include "stream/log_reading.h"

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// Accepts all records at once.
class Taken final : public RecordSink {
 public:
  explicit Taken(size_t partitions) : after(partitions), records(partitions) {}

  Result<std::vector<std::string>> find_beginning(const std::stop_token&) override { return after; }
  Demand wait_for_demand(std::span<const size_t> partitions, const std::stop_token& stop) override {
    if (stop.stop_requested()) return {};
    return {{partitions.begin(), partitions.end()}, free_bytes};
  }
  Status add_records(std::vector<LogRecord> read) override {
    const std::lock_guard lock(mutex_);
    for (const LogRecord& record : read) {
      records[record.partition].push_back(record.offset);
      bytes += record.bytes();
    }
    return refuses;
  }
  void end_of_log() override { notify("end"); }
  void fail(Status status) override { notify(status.to_string()); }
  // Waits for the end of the log or a failure, and returns which it was.
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kStreamPatience, [&] { return !told_.empty(); });
    return told_;
  }

  std::vector<std::string> after;
  std::vector<std::vector<std::string>> records;  // offsets, of each partition
  uint64_t bytes = 0;
  uint64_t free_bytes = 1 << 20;
  Status refuses;

 private:
  void notify(const std::string& what) {
    const std::lock_guard lock(mutex_);
    told_ += what;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string told_;
};

TEST(LogReading, reads_each_partition_in_order_from_where_it_begins_and_tells_the_end_once) {
  const auto log = log_with({5, 3, 4});
  log->per_reader = 2;
  log->end();
  Taken sink(3);
  sink.after = {"2", "", "4"};
  LogReading reading(log, false, sink);
  ASSERT_TRUE(reading.start().ok());
  EXPECT_EQ(sink.wait(), "end");
  EXPECT_EQ(sink.records, (std::vector<std::vector<std::string>>{{"3", "4", "5"}, {"1", "2", "3"}, {}}));
  EXPECT_EQ(reading.stats().arrived, 6);
}

TEST(LogReading, says_for_how_long_partitions_have_given_nothing) {
  const auto log = log_with({1, 0});
  ManualClock clock;
  Taken sink(2);
  LogReading reading(log, false, sink, clock);
  ASSERT_TRUE(reading.start().ok());
  ASSERT_TRUE(log->wait_idle(2));
  clock.advance(7s);
  EXPECT_EQ(
      reading.awaited(std::vector<size_t>{0, 0}, 4),
      "records of memory: 0 of 4 for the next batch are there; 'b' gave nothing so far; 'a' gave nothing for 7 s");
  EXPECT_EQ(reading.awaited(std::vector<size_t>{3, 0}, 4),
            "records of memory: 3 of 4 for the next batch are there; 'b' gave nothing so far");
}

TEST(LogReading, connections_that_were_opened_again_are_counted_for_each_reader_and_start) {
  const auto log = log_with({1, 1});
  log->reconnects = 2;
  log->end();
  Taken sink(2);
  LogReading reading(log, false, sink);
  for (const int64_t starts : {1, 2}) {
    ASSERT_TRUE(reading.start().ok());
    reading.join();
    EXPECT_EQ(reading.stats().reconnects, starts * 2 * 2);
  }
}

TEST(LogReading, forgotten_records_are_a_failure_or_counted) {
  for (const bool skips : {false, true}) {
    const auto log = log_with({9});
    log->trim(0, 4);
    log->end();
    Taken sink(1);
    LogReading reading(log, skips, sink);
    ASSERT_TRUE(reading.start().ok());
    const std::string told = sink.wait();
    EXPECT_EQ(reading.stats().trimmed, skips ? 4 : 0);
    EXPECT_EQ(sink.records[0].size(), skips ? 5u : 0u) << "nothing behind a gap that is an error is taken in";
    if (skips) {
      EXPECT_EQ(told, "end");
    } else {
      EXPECT_NE(told.find("'a' has forgotten 4 records"), std::string::npos) << told;
    }
  }
}

TEST(LogReading, ends_where_its_sink_refuses_records_and_goes_on_after_a_stop) {
  const auto log = log_with({9});
  Taken sink(1);
  sink.refuses = corrupt("a full disk");
  LogReading reading(log, false, sink);
  ASSERT_TRUE(reading.start().ok());
  EXPECT_NE(sink.wait().find("a full disk"), std::string::npos);
  reading.request_stop();
  reading.join();
  EXPECT_EQ(reading.held_bytes(), 0u);
  sink.refuses = {};
  ASSERT_TRUE(reading.start().ok());
  ASSERT_TRUE(log->wait_idle(1));
  EXPECT_EQ(sink.records[0].size(), 18u);
}

// A read has at least 64 KiB, and all readers together at most half of the free memory.
TEST(LogReading, reads_as_much_at_a_time_as_there_is_room_for) {
  for (const uint64_t free_bytes : {uint64_t{0}, uint64_t{1} << 20}) {
    const auto log = log_with({3'000, 0}, 1'000);
    Taken sink(2);
    sink.free_bytes = free_bytes;
    sink.refuses = cancelled("after one read");
    LogReading reading(log, false, sink);
    ASSERT_TRUE(reading.start().ok());
    (void)sink.wait();
    const uint64_t most = free_bytes == 0 ? 64 << 10 : 256 << 10;
    EXPECT_GE(sink.bytes, most);
    EXPECT_LT(sink.bytes, most + 2'000);
  }
}

}  // namespace
}  // namespace forebay
