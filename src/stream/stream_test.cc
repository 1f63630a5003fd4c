#include "stream/stream.h"

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "stream/memory_log_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 20s;

// Waits until the records below `end` are known, as a run does.
bool wait_known(Stream& stream, int64_t end) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!stream.known(end)) {
    if (!stream.failure().ok() || std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::vector<std::string> keys(const Stream& stream, int64_t from, int64_t to) {
  std::vector<std::string> keys;
  for (int64_t i = from; i < to; ++i) {
    const auto record = stream.record(i);
    keys.push_back(record ? record->key : "");
  }
  return keys;
}

StreamOptions chunks_of(size_t records) {
  StreamOptions options;
  options.chunk = records;
  options.seed = 5;
  return options;
}

std::shared_ptr<MemoryLog> log_with(std::vector<int64_t> records, uint64_t bytes = 8) {
  auto log = std::make_shared<MemoryLog>(records.size(), bytes);
  for (size_t p = 0; p < records.size(); ++p) log->append(p, records[p]);
  return log;
}

TEST(Stream, gives_each_record_once_and_those_of_a_partition_in_order) {
  const auto log = log_with({300, 100, 20});
  log->end();
  Stream stream(log, chunks_of(16));
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
  Stream stream(log, chunks_of(4));
  stream.on_arrival([&] { ++told; });
  stream.seek(stream.beginning());
  log->append(0, 3);
  EXPECT_FALSE(stream.known(4));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(told, 0);
  EXPECT_NE(stream.awaited().find("3 of 4"), std::string::npos) << stream.awaited();
  log->append(0, 1);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (told == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(stream.known(4));
}

// The contract of a checkpoint: at any place, also inside a shuffled window, and with chunks of another size behind it.
TEST(Stream, goes_on_from_any_place_without_loss_and_without_doubles) {
  std::mt19937_64 draw(3);
  for (int trial = 0; trial < 60; ++trial) {
    const auto log = log_with({static_cast<int64_t>(draw() % 200), static_cast<int64_t>(50 + draw() % 100)});
    log->end();
    StreamOptions options = chunks_of(1 + draw() % 40);
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
    options.chunk = 1 + draw() % 40;
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
  StreamOptions options = chunks_of(40);
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
  StreamOptions options = chunks_of(50);
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
  StreamOptions options = chunks_of(10);
  options.bytes = 100'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(log->reads(0), 300);
}

TEST(Stream, a_fast_partition_leaves_room_to_slow_ones) {
  const auto log = log_with({1'000'000, 0}, 1000);
  StreamOptions options = chunks_of(10);
  options.bytes = 400'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  log->append(1, 40);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (log->reads(1) < 40 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(log->reads(1), 40);
}

TEST(Stream, what_one_batch_needs_is_read_whatever_it_takes) {
  const auto log = log_with({100}, 100'000);
  StreamOptions options = chunks_of(32);
  options.bytes = 50'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  EXPECT_TRUE(wait_known(stream, 32));
  stream.behind(32);
  EXPECT_TRUE(wait_known(stream, 64));
}

TEST(Stream, the_oldest_go_where_training_is_slow_and_are_counted) {
  const auto log = log_with({5'000}, 1000);
  StreamOptions options = chunks_of(10);
  options.policy = BufferPolicy::kDropOldest;
  options.bytes = 100'000;
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  const auto until = std::chrono::steady_clock::now() + kPatience;
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

TEST(Stream, forgotten_records_are_an_error_that_says_how_many_or_are_left_out) {
  const auto log = log_with({100});
  log->trim(0, 30);
  Stream strict(log, chunks_of(10));
  strict.seek(strict.beginning());
  EXPECT_FALSE(wait_known(strict, 10));
  EXPECT_EQ(strict.failure().code(), Code::kNotFound);
  EXPECT_NE(strict.failure().message().find("'a' has forgotten 30 records"), std::string::npos)
      << strict.failure().message();
  StreamOptions options = chunks_of(10);
  options.skip_trimmed = true;
  Stream skips(log, options);
  skips.seek(skips.beginning());
  ASSERT_TRUE(wait_known(skips, 10));
  EXPECT_EQ(keys(skips, 0, 1).front(), "a/31");
  EXPECT_EQ(skips.stats().trimmed, 30);
}

TEST(Stream, begins_where_the_log_ends_if_it_is_told_to) {
  const auto log = log_with({100, 7});
  StreamOptions options = chunks_of(4);
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

TEST(Stream, stops_at_any_moment_and_tells_failures) {
  for (int trial = 0; trial < 20; ++trial) {
    const auto log = log_with({1'000'000, 1'000'000});
    Stream stream(log, chunks_of(64));
    stream.seek(stream.beginning());
    stream.known(64);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * trial));
    stream.stop();
    EXPECT_FALSE(stream.known(64));
  }
  const auto log = std::make_shared<MemoryLog>(1);
  std::atomic<int> told = 0;
  Stream stream(log, chunks_of(4));
  stream.on_arrival([&] { ++told; });
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.known(4));
  log->fail(Status(Code::kNotFound, "the log is gone"));
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (told == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(stream.failure().message(), "the log is gone");
}

TEST(Stream, several_partitions_on_one_reader) {
  const auto log = log_with({50, 60, 70, 80, 90});
  log->per_reader = 2;
  log->end();
  Stream stream(log, chunks_of(16));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 1'000'000));
  EXPECT_EQ(stream.end(), 350);
}

TEST(Stream, spilled_records_come_back_in_order_and_memory_stays_bounded) {
  const auto log = log_with({20'000, 3'000}, 3'000);
  StreamOptions options = chunks_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), uint64_t{1} << 30);
  Stream stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 64));
  const auto until = std::chrono::steady_clock::now() + kPatience;
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

TEST(Stream, a_full_disk_makes_records_wait_where_they_are) {
  const auto log = log_with({50'000}, 3'000);
  StreamOptions options = chunks_of(64);
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

// Each of N records that arrived for a chunk of C stays with the probability C / N, whatever its place and its partition.
TEST(Stream, a_sample_is_uniform_over_what_arrived) {
  constexpr int kChunk = 20, kArrived = 100, kRuns = 400;
  std::vector<double> stayed(kArrived);
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto waiting = waiting_sampled({.partitions = 2, .chunk = kChunk, .seed = seed}, /*decides=*/true);
    ASSERT_TRUE(waiting->begin_chunk(0, nullptr).ok());
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
    EXPECT_EQ(all, static_cast<size_t>(kChunk));
  }
  double chi = 0;
  const double expected = kRuns * double{kChunk} / kArrived;
  for (const double count : stayed)
    chi += (count - expected) * (count - expected) / (expected * (1 - double{kChunk} / kArrived));
  EXPECT_LT(chi, 160) << "99 degrees of freedom: above once in 10,000 draws";
}

// A guide that repeats what a witness was told.
class Recorded final : public ChunkWitness, public ChunkGuide {
 public:
  void decided(const Chunk& chunk) override { chunks.push_back(chunk); }
  Result<Answer> at(int64_t first) override {
    for (const Chunk& chunk : chunks) {
      if (chunk.first == first) return Answer{Says::kThis, chunk};
    }
    return Answer{Says::kEnd, {}};
  }
  std::vector<Chunk> chunks;
};

TEST(Stream, what_was_decided_can_be_repeated_under_every_policy) {
  for (const BufferPolicy policy :
       {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample, BufferPolicy::kSpill}) {
    const auto log = log_with({3'000, 1'000}, 500);
    StreamOptions options = chunks_of(50);
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

}  // namespace
}  // namespace forebay
