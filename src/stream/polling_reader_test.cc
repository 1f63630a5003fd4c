#include "stream/polling_reader.h"

#include <functional>

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 30ms;

// Calls a function of the test at each look.
class ScriptedReader final : public PollingReader {
 public:
  struct Part {
    size_t partition;
    int count;
  };
  using Look = std::function<Status(std::vector<LogRecord>&, std::vector<LogGap>&)>;
  ScriptedReader(StreamClock& clock, Look look) : PollingReader(clock), look_(std::move(look)) {}

  Result<std::vector<Part*>> find(const std::vector<size_t>& wanted) { return find_wanted(wanted, parts_); }

  int looks = 0;
  std::chrono::milliseconds last_wait{-1};

 private:
  Status poll(const std::vector<size_t>&, const Limits& limits, const std::stop_token&,
              std::vector<LogRecord>& records) override {
    ++looks;
    last_wait = limits.wait;
    return look_(records, gaps_);
  }
  Time next_poll(size_t) override { return clock_.now() + kBetweenLooks; }

  const Look look_;
  std::vector<Part> parts_{{3, 30}, {1, 10}, {7, 70}};
};

LogReader::Limits wait_of(std::chrono::milliseconds wait) {
  LogReader::Limits limits;
  limits.wait = wait;
  return limits;
}

TEST(PollingReader, returns_the_records_of_the_first_look_that_finds_some) {
  ManualClock clock;
  int left = 2;
  ScriptedReader reader(clock, [&](std::vector<LogRecord>& records, auto&) {
    if (left-- == 0) records.push_back({0, "7", "key"});
    return Status();
  });
  const auto records = reader.read({0}, wait_of(1s), {});
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ((*records)[0].offset, "7");
  EXPECT_EQ(reader.looks, 3);
  EXPECT_EQ(clock.passed(), 2 * kBetweenLooks) << "no wait after the look that found it";
}

TEST(PollingReader, returns_nothing_once_the_wait_is_over_and_looks_a_last_time_then) {
  ManualClock clock;
  ScriptedReader reader(clock, [](auto&, auto&) { return Status(); });
  const auto records = reader.read({0}, wait_of(100ms), {});
  ASSERT_TRUE(records.ok());
  EXPECT_TRUE(records->empty());
  EXPECT_EQ(clock.passed(), 100ms) << "not the time of a further look";
  EXPECT_EQ(reader.looks, 5) << "after 0, 30, 60, 90 and 100 ms";
  EXPECT_EQ(reader.last_wait, 0ms) << "each look is told the rest of the wait";
}

TEST(PollingReader, looks_once_without_a_wait) {
  ManualClock clock;
  ScriptedReader reader(clock, [](auto&, auto&) { return Status(); });
  EXPECT_TRUE(reader.read({0}, wait_of(0ms), {}).ok());
  EXPECT_EQ(reader.looks, 1);
  EXPECT_EQ(clock.waits(), 0);
}

TEST(PollingReader, waits_without_a_look_if_no_partition_is_wanted) {
  ManualClock clock;
  ScriptedReader reader(clock, [](auto&, auto&) { return corrupt("nobody wanted that"); });
  EXPECT_TRUE(reader.read({}, wait_of(100ms), {}).ok());
  EXPECT_EQ(reader.looks, 0);
  EXPECT_EQ(clock.passed(), 100ms);
}

TEST(PollingReader, a_new_gap_ends_the_wait_and_one_that_nobody_has_taken_does_not) {
  ManualClock clock;
  int looks = 0;
  ScriptedReader reader(clock, [&](auto&, std::vector<LogGap>& gaps) {
    if (++looks == 2) gaps.push_back({0, 4, "9"});
    return Status();
  });
  EXPECT_TRUE(reader.read({0}, wait_of(1s), {})->empty());
  EXPECT_EQ(clock.passed(), kBetweenLooks);
  EXPECT_TRUE(reader.read({0}, wait_of(100ms), {})->empty());
  EXPECT_EQ(clock.passed(), kBetweenLooks + 100ms);
  const std::vector<LogGap> gaps = reader.take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].records, 4);
  EXPECT_TRUE(reader.take_gaps().empty()) << "each gap is reported once";
}

TEST(PollingReader, an_error_of_a_look_is_that_of_the_read) {
  ManualClock clock;
  ScriptedReader reader(clock, [](auto&, auto&) { return corrupt("a broken file"); });
  EXPECT_EQ(reader.read({0}, wait_of(1s), {}).status().message(), "a broken file");
}

// The records that came with the stop are read again after it.
TEST(PollingReader, a_stop_is_cancelled_also_if_records_have_come) {
  ManualClock clock;
  std::stop_source stop;
  ScriptedReader reader(clock, [&](std::vector<LogRecord>& records, auto&) {
    records.push_back({0, "1", "key"});
    stop.request_stop();
    return Status();
  });
  EXPECT_EQ(reader.read({0}, wait_of(1s), stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(reader.read({0}, wait_of(1s), stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(reader.looks, 1) << "none after the stop";
}

TEST(PollingReader, finds_the_parts_of_wanted_partitions_in_their_order) {
  ManualClock clock;
  ScriptedReader reader(clock, [](auto&, auto&) { return Status(); });
  const auto found = reader.find({1, 7, 3});
  ASSERT_TRUE(found.ok());
  std::vector<int> counts;
  for (const auto* part : *found) counts.push_back(part->count);
  EXPECT_EQ(counts, (std::vector<int>{10, 70, 30}));
  const Status other = reader.find({1, 2}).status();
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.message(), "partition 2 is not of this reader");
}

TEST(StreamClock, the_system_s_clock_waits_until_a_time_or_a_stop) {
  StreamClock& clock = StreamClock::real();
  const StreamClock::Time begin = clock.now();
  EXPECT_TRUE(clock.wait_for(2ms, {}));
  EXPECT_GE(clock.now() - begin, 2ms);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(clock.wait_for(1000h, stop.get_token()));
  EXPECT_GT(clock.wall_ns(), int64_t{1'700'000'000} * 1'000'000'000) << "nanoseconds since 1970";
}

}  // namespace
}  // namespace forebay
