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
  Stream stream(log, decisions_of(16));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  ASSERT_EQ(stream.end(), 420);
  std::map<char, int> next;
  for (const std::string& key : keys(stream, 0, 420)) EXPECT_EQ(key.substr(2), std::to_string(++next[key[0]]));
  EXPECT_EQ(next, (std::map<char, int>{{'a', 300}, {'b', 100}, {'c', 20}}));
}

TEST(Stream, knows_nothing_that_has_not_arrived_and_tells_when_it_has) {
  const auto log = std::make_shared<MemoryLog>(1);
  std::atomic<int> told = 0;
  Stream stream(log, decisions_of(4));
  stream.on_arrival([&] { ++told; });
  stream.seek(stream.beginning());
  log->append(0, 3);
  EXPECT_FALSE(stream.known(4));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(told, 0);
  EXPECT_NE(stream.awaited().find("3 of 4"), std::string::npos) << stream.awaited();
  log->append(0, 1);
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (told == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(stream.known(4));
}

// The contract of a checkpoint: at any place, also inside a shuffled window, and with decisions of another size behind it.
TEST(Stream, goes_on_from_any_place_without_loss_and_without_doubles) {
  std::mt19937_64 draw(3);
  for (int trial = 0; trial < 60; ++trial) {
    const auto log = log_with({static_cast<int64_t>(draw() % 200), static_cast<int64_t>(50 + draw() % 100)});
    log->end();
    StreamOptions options = decisions_of(1 + draw() % 40);
    options.shuffled = draw() % 2 == 0;
    Stream before(log, options);
    before.seek(before.beginning());
    ASSERT_TRUE(wait_known(before, 1'000'000));
    const int64_t all = *before.end();
    const auto at = static_cast<int64_t>(draw() % static_cast<uint64_t>(all + 1));
    std::multiset<std::string> given;
    for (const std::string& key : keys(before, 0, at)) given.insert(key);
    before.behind(at);
    const StreamPlace place = before.place(at);
    const Result<StreamPlace> read = StreamPlace::from_json(place.to_json(log->partitions()), log->partitions());
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(*read, place);
    options.decision_records = 1 + draw() % 40;
    Stream after(log, options);
    after.seek(*read);
    ASSERT_TRUE(wait_known(after, 1'000'000));
    ASSERT_EQ(after.end(), all);
    EXPECT_EQ(after.place(at), place);
    for (const std::string& key : keys(after, at, all)) given.insert(key);
    EXPECT_EQ(given.size(), static_cast<size_t>(all));
    EXPECT_EQ(std::set<std::string>(given.begin(), given.end()).size(), given.size());
    EXPECT_EQ(given.count(""), 0u);
  }
}

TEST(Stream, the_rest_of_a_window_comes_in_the_order_that_it_had) {
  const auto log = log_with({100, 60});
  StreamOptions options = decisions_of(40);
  options.shuffled = true;
  Stream first(log, options);
  first.seek(first.beginning());
  ASSERT_TRUE(wait_known(first, 40));
  Stream second(log, options);
  second.seek(first.place(13));
  ASSERT_TRUE(wait_known(second, 40));
  EXPECT_EQ(keys(second, 13, 40), keys(first, 13, 40));
}

TEST(Stream, what_is_behind_takes_no_memory) {
  const auto log = log_with({1000}, 1000);
  StreamOptions options = decisions_of(50);
  options.bytes = 200'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  for (int64_t at = 0; at < 1000; at += 50) {
    ASSERT_TRUE(wait_known(stream, at + 50));
    EXPECT_LE(stream.stats().bytes, options.bytes + 70'000) << "the budget, and what one read may bring beyond it";
    stream.behind(at + 25);
    EXPECT_EQ(stream.record(at), nullptr);
    EXPECT_NE(stream.record(at + 25), nullptr);
    stream.behind(at + 50);
  }
}

TEST(Stream, reads_no_more_than_there_is_room_for) {
  const auto log = log_with({100'000}, 1000);
  StreamOptions options = decisions_of(10);
  options.bytes = 100'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(log->reads(0), 300);
}

TEST(Stream, a_fast_partition_leaves_room_to_slow_ones) {
  const auto log = log_with({1'000'000, 0}, 1000);
  StreamOptions options = decisions_of(10);
  options.bytes = 400'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  log->append(1, 40);
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (log->reads(1) < 40 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(log->reads(1), 40);
}

TEST(Stream, what_one_batch_needs_is_read_whatever_it_takes) {
  const auto log = log_with({100}, 100'000);
  StreamOptions options = decisions_of(32);
  options.bytes = 50'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  EXPECT_TRUE(wait_known(stream, 32));
  stream.behind(32);
  EXPECT_TRUE(wait_known(stream, 64));
}

// The decision before cannot go, as the step that begins in it is not delivered.
TEST(Stream, what_a_batch_needs_of_the_next_window_is_read_beside_a_full_one) {
  const auto log = log_with({300}, 10'000);
  StreamOptions options = decisions_of(100);
  options.bytes = 200'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  for (int64_t at = 0; at + 64 <= 300; at += 64) {
    stream.awaits(at + 64);
    ASSERT_TRUE(wait_known(stream, at + 64)) << at;
    stream.behind(at + 64);
  }
}

TEST(Stream, forgotten_records_are_an_error_that_says_how_many_or_are_left_out) {
  const auto log = log_with({100});
  log->trim(0, 30);
  Stream strict(log, decisions_of(10));
  strict.seek(strict.beginning());
  EXPECT_FALSE(wait_known(strict, 10));
  EXPECT_EQ(strict.failure().code(), Code::kNotFound);
  EXPECT_NE(strict.failure().message().find("'a' has forgotten 30 records"), std::string::npos)
      << strict.failure().message();
  StreamOptions options = decisions_of(10);
  options.skip_trimmed = true;
  Stream skips(log, options);
  skips.seek(skips.beginning());
  ASSERT_TRUE(wait_known(skips, 10));
  EXPECT_EQ(keys(skips, 0, 1).front(), "a/31");
  EXPECT_EQ(skips.stats().trimmed, 30);
}

TEST(Stream, a_window_that_was_trimmed_in_part_cannot_be_given_again_and_that_is_said) {
  const auto log = log_with({1000});
  StreamOptions options = decisions_of(100);
  options.shuffled = options.skip_trimmed = true;
  Stream first(log, options);
  first.seek(first.beginning());
  ASSERT_TRUE(wait_known(first, 200));
  const StreamPlace inside = first.place(150);
  log->trim(0, 150);
  const auto again = std::make_shared<Stream>(log, options);
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
  Stream stream(log, options);
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.known(4));
  std::this_thread::sleep_for(50ms);
  log->append(0, 4);
  ASSERT_TRUE(wait_known(stream, 4));
  EXPECT_EQ(keys(stream, 0, 1).front(), "a/101");
  EXPECT_EQ(stream.place(0).after, (std::vector<std::string>{"100", "7"}));
}

// Also where that was nothing at all: an empty offset alone would be taken for a place that nobody knows.
TEST(Stream, a_state_of_its_beginning_has_what_came_since) {
  for (const int64_t there : {0, 100}) {
    const auto log = log_with({there});
    StreamOptions options = decisions_of(4);
    options.from_now = true;
    Stream first(log, options);
    first.seek(first.beginning());
    EXPECT_FALSE(first.known(4));
    const auto until = std::chrono::steady_clock::now() + kStreamPatience;
    while (!first.place(0).begun && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    const std::string state = first.place(0).to_json(log->partitions());
    first.stop();
    log->append(0, 4);
    Stream second(log, options);
    second.seek(StreamPlace::from_json(state, log->partitions()).value());
    ASSERT_TRUE(wait_known(second, 4)) << "records of before it was opened";
    EXPECT_EQ(keys(second, 0, 1).front(), "a/" + std::to_string(there + 1));
    EXPECT_FALSE(second.place(4).begun);
  }
}

// States of all ranks say the same, however far each has come.
TEST(Stream, the_record_before_one_is_known_also_when_it_is_behind) {
  const auto log = log_with({20, 10});
  StreamOptions options = decisions_of(30);
  options.shuffled = true;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 30));
  std::vector<std::string> before;
  for (int64_t number = 0; number < 30; ++number) {
    const int64_t offset = std::stoll(stream.record(number)->offset);
    before.push_back(stream.before(number));
    EXPECT_EQ(before.back(), offset == 1 ? "" : std::to_string(offset - 1));
  }
  for (int64_t behind = 1; behind < 30; ++behind) {
    stream.behind(behind);
    for (int64_t number = behind; number < 30; ++number)
      EXPECT_EQ(stream.before(number), before[static_cast<size_t>(number)]) << behind;
  }
}

TEST(Stream, stops_at_any_moment_and_tells_failures) {
  for (int trial = 0; trial < 20; ++trial) {
    const auto log = log_with({1'000'000, 1'000'000});
    Stream stream(log, decisions_of(64));
    stream.seek(stream.beginning());
    stream.known(64);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * trial));
    stream.stop();
    EXPECT_FALSE(stream.known(64));
  }
  const auto log = std::make_shared<MemoryLog>(1);
  std::atomic<int> told = 0;
  Stream stream(log, decisions_of(4));
  stream.on_arrival([&] { ++told; });
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.known(4));
  log->fail(Status(Code::kNotFound, "the log is gone"));
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (told == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(stream.failure().message(), "the log is gone");
}

TEST(Stream, several_partitions_on_one_reader) {
  const auto log = log_with({50, 60, 70, 80, 90});
  log->per_reader = 2;
  log->end();
  Stream stream(log, decisions_of(16));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  EXPECT_EQ(stream.end(), 350);
}

}  // namespace
}  // namespace forebay
