#include "stream/stream.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stream/stream_test_support.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

TEST(Stream, the_oldest_go_where_training_is_slow_and_are_counted) {
  const auto log = log_with({5'000}, 1000);
  StreamOptions options = decisions_of(10);
  options.policy = BufferPolicy::kDropOldest;
  options.bytes = 100'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (log->reads(0) < 5'000 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  log->end();
  stream.behind(10);
  int64_t given = 10;
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  given = *stream.end();
  EXPECT_LT(given, 300);
  EXPECT_EQ(keys(stream, given - 1, given).front(), "a/5000");
  const Stream::Stats stats = stream.stats();
  EXPECT_EQ(given + stats.dropped[0], 5'000);
  EXPECT_EQ(stream.place(given).dropped[0], stats.dropped[0]);
}

TEST(Stream, spilled_records_come_back_in_order_and_memory_stays_bounded) {
  const auto log = log_with({20'000, 3'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), uint64_t{1} << 30);
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 64));
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (log->reads(0) < 20'000 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(log->reads(0), 20'000) << "the whole log is taken in, far beyond memory";
  EXPECT_GT(options.spill->used(), 30'000'000u);
  log->end();
  std::map<char, int> next;
  int64_t at = 0;
  while (!stream.end() || at < *stream.end()) {
    ASSERT_TRUE(wait_known(stream, at + 64));
    const int64_t to = std::min(at + 64, stream.end().value_or(at + 64));
    for (const std::string& key : keys(stream, at, to)) ASSERT_EQ(key.substr(2), std::to_string(++next[key[0]]));
    EXPECT_LT(stream.stats().bytes, 2'500'000u);
    stream.behind(at = to);
  }
  EXPECT_EQ(next, (std::map<char, int>{{'a', 20'000}, {'b', 3'000}}));
  stream.stop();
  EXPECT_EQ(options.spill->used(), 0u);
}

TEST(Stream, records_wait_where_they_are_while_the_disk_is_full_and_go_there_when_it_has_room_again) {
  std::atomic<off_t> room = 3'000'000;
  std::atomic<int> warnings = 0;
  set_log_sink([&](const std::string& line) { warnings += line.find("the disk of ") != std::string::npos ? 1 : 0; });
  const auto log = log_with({20'000, 2'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), uint64_t{1} << 30,
                                    [&](int file, const void* bytes, size_t size, off_t at) -> ssize_t {
                                      if (at + static_cast<off_t>(size) <= room) return ::pwrite(file, bytes, size, at);
                                      errno = ENOSPC;
                                      return -1;
                                    });
  Stream stream(log, options);
  stream.seek(stream.beginning());
  std::map<char, int> next;
  int64_t at = 0;
  const auto go_on_to = [&](int64_t end) {
    for (; at < end; at += 64) {
      ASSERT_TRUE(wait_known(stream, at + 64)) << stream.failure().to_string() << stream.awaited();
      for (const std::string& key : keys(stream, at, at + 64)) ASSERT_EQ(key.substr(2), std::to_string(++next[key[0]]));
      EXPECT_LT(stream.stats().bytes, 4'000'000u);
      stream.behind(at + 64);
    }
  };
  go_on_to(3'200);
  EXPECT_LT(log->reads(0) + log->reads(1), 3'200 + 5'000) << "as much as the disk took, and what fits into memory";
  // Its reader runs ahead of what was asked for, and finds the disk full in its own time.
  const auto full_by = std::chrono::steady_clock::now() + kStreamPatience;
  while (warnings == 0 && std::chrono::steady_clock::now() < full_by) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(warnings, 1);
  room = off_t{1} << 30;
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  // Each step looks whether there is room again.
  while (log->reads(0) < 20'000 && at < 12'800 && std::chrono::steady_clock::now() < until) {
    go_on_to(at + 64);
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(log->reads(0), 20'000) << "the whole log is taken in";
  go_on_to(21'952);
  EXPECT_EQ(warnings, 1);
  stream.stop();
  set_log_sink(nullptr);
}

TEST(Stream, a_full_budget_of_the_disk_makes_records_wait_where_they_are) {
  const auto log = log_with({50'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), 20'000'000);
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 64));
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(log->reads(0), 12'000);
  for (int64_t at = 0; at < 49'000; at += 64) {
    ASSERT_TRUE(wait_known(stream, at + 64));
    ASSERT_EQ(stream.record(at)->offset, std::to_string(at + 1));
    stream.behind(at + 64);
  }
}

// Each of N records that arrived for a decision of C stays with the probability C / N, whatever its place and its partition.
TEST(Stream, a_sample_is_uniform_over_what_arrived) {
  constexpr int kDecision = 20, kArrived = 100, kRuns = 400;
  std::vector<double> stayed(kArrived);
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto waiting =
        waiting_sampled({.partitions = 2, .decision_records = kDecision, .seed = seed}, /*decides=*/true);
    ASSERT_TRUE(waiting->begin_decision(0, nullptr).ok());
    for (int i = 0; i < kArrived; ++i) {
      LogRecord record;
      record.partition = static_cast<size_t>(i % 2);
      record.offset = std::to_string(i / 2 + 1);
      ASSERT_TRUE(waiting->add(std::move(record)).ok());
    }
    const Result<Waiting::Taken> taken = waiting->take(waiting->counts());
    ASSERT_TRUE(taken.ok());
    size_t all = 0;
    for (size_t p = 0; p < 2; ++p) {
      all += taken->records[p].size();
      EXPECT_EQ(taken->parts[p].taken + taken->parts[p].dropped, kArrived / 2);
      for (const LogRecord& record : taken->records[p]) stayed[2 * (std::stoul(record.offset) - 1) + p] += 1;
    }
    EXPECT_EQ(all, static_cast<size_t>(kDecision));
  }
  double chi = 0;
  const double expected = kRuns * double{kDecision} / kArrived;
  for (const double count : stayed)
    chi += (count - expected) * (count - expected) / (expected * (1 - double{kDecision} / kArrived));
  EXPECT_LT(chi, 160) << "99 degrees of freedom: above once in 10,000 draws";
}

// A guide that repeats what a witness was told.
class Recorded final : public DecisionWitness, public DecisionGuide {
 public:
  void decided(const Decision& decision) override { decisions.push_back(decision); }
  Result<Answer> at(int64_t first) override {
    for (const Decision& decision : decisions) {
      if (decision.first == first) return Answer{Says::kThis, decision};
    }
    return Answer{Says::kEnd, {}};
  }
  std::vector<Decision> decisions;
};

TEST(Stream, what_was_decided_can_be_repeated_under_every_policy) {
  for (const BufferPolicy policy :
       {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample, BufferPolicy::kSpill}) {
    const auto log = log_with({3'000, 1'000}, 500);
    StreamOptions options = decisions_of(50);
    options.policy = policy;
    options.bytes = 100'000;
    if (policy == BufferPolicy::kSpill) options.spill = *SpillSpace::open(testing::TempDir(), 1 << 30);
    const auto recorded = std::make_shared<Recorded>();
    std::vector<std::string> given;
    {
      Stream stream(log, options);
      stream.seek(stream.beginning());
      stream.set_witness(recorded, 0);
      std::mt19937_64 draw(1);
      for (int64_t at = 0; at < 500; at += 50) {
        log->append(draw() % 2, static_cast<int64_t>(draw() % 400));
        ASSERT_TRUE(wait_known(stream, at + 50)) << stream.awaited();
        for (const std::string& key : keys(stream, at, at + 50)) given.push_back(key);
        stream.behind(at + 50);
        log->append(0, 60);
      }
    }
    options.bytes = 60'000;
    Stream again(log, options);
    again.set_guide(recorded);
    again.seek(again.beginning());
    std::vector<std::string> repeated;
    for (int64_t at = 0; at < 500; at += 50) {
      ASSERT_TRUE(wait_known(again, at + 50))
          << static_cast<int>(policy) << ": " << again.failure().message() << again.awaited();
      for (const std::string& key : keys(again, at, at + 50)) repeated.push_back(key);
      again.behind(at + 50);
    }
    EXPECT_EQ(repeated, given) << static_cast<int>(policy);
  }
}

// Records are parts of what one answer of a server brought.
TEST(Stream, a_sample_does_not_keep_what_its_records_were_read_with) {
  const auto waiting = waiting_sampled({.partitions = 1, .decision_records = 4}, true);
  ASSERT_TRUE(waiting->begin_decision(0, nullptr).ok());
  const auto owner = std::make_shared<std::vector<uint8_t>>(10'000);
  {
    const Buffer answer(owner->data(), owner->size(), owner);
    for (size_t i = 0; i < 100; ++i)
      ASSERT_TRUE(waiting->add({0, std::to_string(i + 1), "key", answer.slice(i * 100, 100)}).ok());
  }
  EXPECT_EQ(waiting->counts(), std::vector<size_t>{4});
  EXPECT_EQ(owner.use_count(), 1);
}

// What others dropped must be read, too, and it may be all that a decision has of a partition.
TEST(Stream, a_decision_that_only_drops_of_a_partition_is_followed_without_room) {
  const auto log = log_with({60, 100}, 500);
  StreamOptions options = decisions_of(50);
  options.bytes = 10'000;
  const auto recorded = std::make_shared<Recorded>();
  recorded->decisions = {{0, {{1, "50", 50, 0}}, 0}, {50, {{0, "60", 0, 60}, {1, "100", 50, 0}}, 0}};
  Stream stream(log, options);
  stream.set_guide(recorded);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 100)) << stream.awaited();
  EXPECT_EQ(stream.place(100).after, (std::vector<std::string>{"60", "100"}));
}

StreamOptions impatient(size_t records) {
  StreamOptions options = decisions_of(records);
  options.on_underrun = OnUnderrun::kRepeat;
  return options;
}

TEST(Stream, who_cannot_wait_gets_what_is_there_and_numbers_without_records) {
  const auto log = log_with({3});
  Stream stream(log, impatient(4));
  stream.seek(stream.beginning());
  ASSERT_FALSE(stream.known(4));
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(stream.hurry(4));
  EXPECT_EQ(keys(stream, 0, 4), (std::vector<std::string>{"a/1", "a/2", "a/3", ""}));
  EXPECT_EQ(stream.missing(0, 4), std::vector<int64_t>{3});
  EXPECT_TRUE(stream.hurry(8));
  EXPECT_EQ(stream.missing(2, 7), (std::vector<int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(stream.stats().missing, 5);
  log->append(0, 4);
  ASSERT_TRUE(wait_known(stream, 12));
  EXPECT_EQ(keys(stream, 8, 12), (std::vector<std::string>{"a/4", "a/5", "a/6", "a/7"}));
  stream.behind(8);
  EXPECT_EQ(stream.place(8).after, std::vector<std::string>{"3"}) << "nothing of the log is passed over";
  log->end();
  ASSERT_TRUE(wait_known(stream, 13));
  EXPECT_EQ(stream.end(), 12) << "the end of a log is no drought";
}

TEST(Stream, the_patient_never_underrun) {
  const auto log = log_with({3});
  Stream stream(log, decisions_of(4));
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.known(4));
  EXPECT_FALSE(stream.hurry(4));
}

TEST(Stream, numbers_without_records_are_repeated_and_stand_in_states) {
  for (const BufferPolicy policy : {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample}) {
    const auto log = log_with({5, 2});
    StreamOptions options = impatient(10);
    options.policy = policy;
    const auto recorded = std::make_shared<Recorded>();
    Stream stream(log, options);
    stream.seek(stream.beginning());
    stream.set_witness(recorded, 0);
    (void)stream.known(10);
    std::this_thread::sleep_for(50ms);
    ASSERT_TRUE(stream.hurry(10));
    log->append(1, 10);
    ASSERT_TRUE(wait_known(stream, 20));
    const StreamPlace place = stream.place(9);
    ASSERT_EQ(place.decision, (Decision{7, {}, 3}));
    EXPECT_EQ(*StreamPlace::from_json(place.to_json(log->partitions()), log->partitions()), place);
    Stream again(log, options);
    again.set_guide(recorded);
    again.seek(again.beginning());
    ASSERT_TRUE(wait_known(again, 20)) << again.awaited();
    EXPECT_EQ(keys(again, 0, 20), keys(stream, 0, 20)) << static_cast<int>(policy);
    EXPECT_EQ(again.missing(0, 20), stream.missing(0, 20));
  }
}

// Its records are read again, which takes a while: until then there is nothing that could be given.
TEST(Stream, who_goes_on_inside_a_decision_gets_the_rest_of_it_whatever_the_hurry) {
  for (const BufferPolicy policy : {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample}) {
    const auto log = log_with({8, 8});
    StreamOptions options = impatient(16);
    options.shuffled = true;
    options.policy = policy;
    Stream stream(log, options);
    stream.seek(stream.beginning());
    ASSERT_TRUE(wait_known(stream, 16));
    const std::vector<std::string> rest = keys(stream, 5, 16);
    Stream again(log, options);
    again.seek(stream.place(5));
    EXPECT_FALSE(again.hurry(10)) << "nothing is read before the first known()";
    ASSERT_TRUE(wait_known(again, 16)) << again.awaited();
    EXPECT_EQ(keys(again, 5, 16), rest) << static_cast<int>(policy);
    EXPECT_EQ(again.stats().missing, 0);
    EXPECT_TRUE(again.hurry(18));
    EXPECT_EQ(again.missing(0, 18), (std::vector<int64_t>{16, 17})) << "behind the decision it does not wait";
  }
}

}  // namespace
}  // namespace forebay
