#include "stream/stream.h"

#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stream/stream_itinerary.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

TEST(Stream, gives_each_record_once_and_those_of_a_partition_in_order) {
  const auto log = log_with({300, 100, 20});
  log->end();
  AwaitedStream stream(log, decisions_of(16));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  ASSERT_EQ(stream.end(), 420);
  std::map<char, int> next;
  for (const std::string& key : keys(stream, 0, 420)) EXPECT_EQ(key.substr(2), std::to_string(++next[key[0]]));
  EXPECT_EQ(next, (std::map<char, int>{{'a', 300}, {'b', 100}, {'c', 20}}));
}

TEST(Stream, knows_nothing_that_has_not_arrived_and_tells_when_it_has) {
  const auto log = std::make_shared<MemoryLog>(1);
  AwaitedStream stream(log, decisions_of(4));
  stream.seek(stream.beginning());
  log->append(0, 3);
  EXPECT_FALSE(stream.request(4));
  ASSERT_TRUE(log->wait_idle(1));
  EXPECT_EQ(stream.arrivals(), 0);
  EXPECT_NE(stream.awaited().find("3 of 4"), std::string::npos) << stream.awaited();
  log->append(0, 1);
  EXPECT_TRUE(stream.wait_arrivals(1));
  EXPECT_TRUE(stream.request(4));
  ASSERT_TRUE(log->wait_idle(1));
  EXPECT_EQ(stream.arrivals(), 1);
}

TEST(Stream, forgotten_records_are_an_error_that_says_how_many_or_are_left_out) {
  const auto log = log_with({100});
  log->trim(0, 30);
  AwaitedStream strict(log, decisions_of(10));
  strict.seek(strict.beginning());
  EXPECT_FALSE(wait_known(strict, 10));
  EXPECT_EQ(strict.failure().code(), Code::kNotFound);
  EXPECT_NE(strict.failure().message().find("'a' has forgotten 30 records"), std::string::npos)
      << strict.failure().message();
  StreamOptions options = decisions_of(10);
  options.skip_trimmed = true;
  AwaitedStream skips(log, options);
  skips.seek(skips.beginning());
  ASSERT_TRUE(wait_known(skips, 10));
  EXPECT_EQ(keys(skips, 0, 1).front(), "a/31");
  EXPECT_EQ(skips.stats().trimmed, 30);
}

TEST(Stream, a_window_that_was_trimmed_in_part_cannot_be_given_again_and_that_is_said) {
  const auto log = log_with({1000});
  StreamOptions options = decisions_of(100);
  options.shuffled = options.skip_trimmed = true;
  AwaitedStream first(log, options);
  first.seek(first.beginning());
  ASSERT_TRUE(wait_known(first, 200));
  const StreamPlace inside = first.place(150);
  log->trim(0, 150);
  const auto again = std::make_shared<AwaitedStream>(log, options);
  again->seek(inside);
  EXPECT_FALSE(wait_known(*again, 160));
  const Status failure = StreamItinerary(again, {.batch_size = 10}).failure();
  EXPECT_EQ(failure.code(), Code::kCorrupt);
  EXPECT_EQ(failure.key(), "memory");
  EXPECT_NE(failure.message().find("go on with a later state"), std::string::npos) << failure.message();
}

TEST(Stream, begins_where_the_log_ends_if_it_is_told_to) {
  const auto log = log_with({100, 7});
  StreamOptions options = decisions_of(4);
  options.from_now = true;
  AwaitedStream stream(log, options);
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.request(4));
  ASSERT_TRUE(log->wait_idle(2));
  log->append(0, 4);
  ASSERT_TRUE(wait_known(stream, 4));
  EXPECT_EQ(keys(stream, 0, 1).front(), "a/101");
  EXPECT_EQ(stream.place(0).after, (std::vector<std::string>{"100", "7"}));
}

// The log may have been empty then: an empty offset alone would mean that the beginning is unknown.
TEST(Stream, a_state_of_its_beginning_has_what_came_since) {
  for (const int64_t there : {0, 100}) {
    const auto log = log_with({there});
    StreamOptions options = decisions_of(4);
    options.from_now = true;
    AwaitedStream first(log, options);
    first.seek(first.beginning());
    EXPECT_FALSE(first.request(4));
    ASSERT_TRUE(log->wait_idle(1));
    const StreamPlace place = saved_and_loaded(first.place(0), log->partitions()).value();
    first.stop();
    log->append(0, 4);
    AwaitedStream second(log, options);
    second.seek(place);
    ASSERT_TRUE(wait_known(second, 4)) << "records of before it was opened";
    EXPECT_EQ(keys(second, 0, 1).front(), "a/" + std::to_string(there + 1));
    EXPECT_FALSE(second.place(4).began_at_log_end);
  }
}

TEST(Stream, stops_at_any_moment_and_tells_failures) {
  for (int trial = 0; trial < 20; ++trial) {
    const auto log = log_with({1'000'000, 1'000'000});
    AwaitedStream stream(log, decisions_of(64));
    stream.seek(stream.beginning());
    stream.request(64);
    for (int moments = 0; moments < 3 * trial; ++moments) std::this_thread::yield();
    stream.stop();
    EXPECT_FALSE(stream.request(64));
  }
  const auto log = std::make_shared<MemoryLog>(1);
  AwaitedStream stream(log, decisions_of(4));
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.request(4));
  log->fail(Status(Code::kNotFound, "the log is gone"));
  EXPECT_TRUE(stream.wait_arrivals(1));
  EXPECT_EQ(stream.failure().message(), "the log is gone");
}

TEST(Stream, several_partitions_on_one_reader) {
  const auto log = log_with({50, 60, 70, 80, 90});
  log->per_reader = 2;
  log->end();
  AwaitedStream stream(log, decisions_of(16));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  EXPECT_EQ(stream.end(), 350);
}

}  // namespace
}  // namespace forebay
