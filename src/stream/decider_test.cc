#include "stream/decider.h"

#include <cerrno>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"
#include "stream/stream_test_support.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

// Reads a log into a Decider on the test's own thread, as far as the log goes and the Decider
// wants.
class ReadByHand {
 public:
  ReadByHand(std::shared_ptr<MemoryLog> log, const StreamOptions& options)
      : decider(options, log->partitions().size()), log_(std::move(log)), partitions_(log_->partitions().size()) {
    std::iota(partitions_.begin(), partitions_.end(), size_t{0});
  }
  StreamPlace beginning() const {
    return {0, std::vector<std::string>(partitions_.size()), std::vector<int64_t>(partitions_.size())};
  }
  void seek(StreamPlace place) {
    decider.seek(std::move(place));
    std::vector<LogPosition> from;
    for (const size_t p : partitions_) from.push_back({p, decider.decided().base().after[p]});
    reader_ = *log_->read_after(std::move(from));
  }
  bool request(int64_t end) {
    while (!decider.request(end) && read()) {
    }
    const bool known = decider.request(end);
    read_ahead();
    return known;
  }
  void read_ahead() {
    while (read()) {
    }
  }
  void behind(int64_t number) {
    (void)decider.decided().take_delivered(number);
    read_ahead();
  }
  auto record(int64_t number) const { return decider.decided().record(number); }
  uint64_t bytes() const { return decider.decided().bytes() + decider.waiting().bytes(); }

  Decider decider;

 private:
  // Returns whether there were any records.
  bool read() {
    const std::vector<size_t> wanted = decider.partitions_to_read(partitions_);
    if (wanted.empty()) return false;
    LogReader::Limits limits;
    limits.wait = 0ms;
    limits.bytes = std::max<uint64_t>(64 << 10, decider.free_bytes() / (2 * partitions_.size()));
    std::vector<LogRecord> records = *reader_->read(wanted, limits, {});
    if (reader_->ended()) decider.end_of_log();
    for (LogRecord& record : records) EXPECT_TRUE(decider.add(std::move(record)).ok());
    (void)decider.decide_requested();
    return !records.empty();
  }

  const std::shared_ptr<MemoryLog> log_;
  std::vector<size_t> partitions_;
  std::unique_ptr<LogReader> reader_;
};

TEST(Decider, what_is_behind_takes_no_memory) {
  const auto log = log_with({1000}, 1000);
  StreamOptions options = decisions_of(50);
  options.bytes = 200'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  for (int64_t at = 0; at < 1000; at += 50) {
    ASSERT_TRUE(stream.request(at + 50));
    EXPECT_LE(stream.bytes(), options.bytes + 70'000) << "the budget, and what one read may bring beyond it";
    stream.behind(at + 25);
    EXPECT_EQ(stream.record(at), nullptr);
    EXPECT_NE(stream.record(at + 25), nullptr);
    stream.behind(at + 50);
  }
}

TEST(Decider, reads_no_more_than_there_is_room_for) {
  const auto log = log_with({100'000}, 1000);
  StreamOptions options = decisions_of(10);
  options.bytes = 100'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(10));
  EXPECT_LT(log->reads(0), 300);
}

TEST(Decider, a_fast_partition_leaves_room_to_slow_ones) {
  const auto log = log_with({1'000'000, 0}, 1000);
  StreamOptions options = decisions_of(10);
  options.bytes = 400'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(10));
  log->append(1, 40);
  stream.read_ahead();
  EXPECT_EQ(log->reads(1), 40);
}

TEST(Decider, what_one_batch_needs_is_read_whatever_it_takes) {
  const auto log = log_with({100}, 100'000);
  StreamOptions options = decisions_of(32);
  options.bytes = 50'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  EXPECT_TRUE(stream.request(32));
  stream.behind(32);
  EXPECT_TRUE(stream.request(64));
}

// The previous decision cannot be released, as the step that begins in it is not delivered.
TEST(Decider, what_a_batch_needs_of_the_next_window_is_read_beside_a_full_one) {
  const auto log = log_with({300}, 10'000);
  StreamOptions options = decisions_of(100);
  options.bytes = 200'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  for (int64_t at = 0; at + 64 <= 300; at += 64) {
    (void)stream.decider.set_awaited(at + 64);
    ASSERT_TRUE(stream.request(at + 64)) << at;
    stream.behind(at + 64);
  }
}

// The states of all ranks must be equal, whatever each rank has delivered.
TEST(Decider, the_record_before_one_is_known_also_when_it_is_behind) {
  const auto log = log_with({20, 10});
  StreamOptions options = decisions_of(30);
  options.shuffled = true;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(30));
  std::vector<std::string> before;
  for (int64_t number = 0; number < 30; ++number) {
    const int64_t offset = std::stoll(stream.record(number)->offset);
    before.push_back(stream.decider.decided().offset_before(number));
    EXPECT_EQ(before.back(), offset == 1 ? "" : std::to_string(offset - 1));
  }
  for (int64_t behind = 1; behind < 30; ++behind) {
    stream.behind(behind);
    for (int64_t number = behind; number < 30; ++number)
      EXPECT_EQ(stream.decider.decided().offset_before(number), before[static_cast<size_t>(number)]) << behind;
  }
}

TEST(Decider, the_rest_of_a_window_comes_in_the_order_that_it_had) {
  const auto log = log_with({100, 60});
  StreamOptions options = decisions_of(40);
  options.shuffled = true;
  ReadByHand first(log, options);
  first.seek(first.beginning());
  ASSERT_TRUE(first.request(40));
  ReadByHand second(log, options);
  second.seek(first.decider.place(13));
  ASSERT_TRUE(second.request(40));
  EXPECT_EQ(keys(second, 13, 40), keys(first, 13, 40));
}

// The contract of a checkpoint holds at any place, inside a shuffled window as well, and with
// decisions of another size after it.
TEST(Decider, goes_on_from_any_place_without_loss_and_without_doubles) {
  std::mt19937_64 draw(3);
  for (int trial = 0; trial < 60; ++trial) {
    const auto log = log_with({static_cast<int64_t>(draw() % 200), static_cast<int64_t>(50 + draw() % 100)});
    log->end();
    StreamOptions options = decisions_of(1 + draw() % 40);
    options.shuffled = draw() % 2 == 0;
    ReadByHand before(log, options);
    before.seek(before.beginning());
    ASSERT_TRUE(before.request(1'000'000));
    const int64_t all = *before.decider.end();
    const auto at = static_cast<int64_t>(draw() % static_cast<uint64_t>(all + 1));
    std::multiset<std::string> given;
    for (const std::string& key : keys(before, 0, at)) given.insert(key);
    before.behind(at);
    const StreamPlace place = before.decider.place(at);
    const Result<StreamPlace> read = saved_and_loaded(place, log->partitions());
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(*read, place);
    options.decision_records = 1 + draw() % 40;
    ReadByHand after(log, options);
    after.seek(*read);
    ASSERT_TRUE(after.request(1'000'000));
    ASSERT_EQ(after.decider.end(), all);
    EXPECT_EQ(after.decider.place(at), place);
    for (const std::string& key : keys(after, at, all)) given.insert(key);
    EXPECT_EQ(given.size(), static_cast<size_t>(all));
    EXPECT_EQ(std::set<std::string>(given.begin(), given.end()).size(), given.size());
    EXPECT_EQ(given.count(""), 0u);
  }
}

TEST(Decider, the_oldest_go_where_training_is_slow_and_are_counted) {
  const auto log = log_with({5'000}, 1000);
  StreamOptions options = decisions_of(10);
  options.policy = BufferPolicy::kDropOldest;
  options.bytes = 100'000;
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(10));
  log->end();
  stream.behind(10);
  int64_t given = 10;
  ASSERT_TRUE(stream.request(1'000'000));
  given = *stream.decider.end();
  EXPECT_LT(given, 300);
  EXPECT_EQ(keys(stream, given - 1, given).front(), "a/5000");
  const int64_t dropped = stream.decider.decided().dropped()[0];
  EXPECT_EQ(given + dropped, 5'000);
  EXPECT_EQ(stream.decider.place(given).dropped[0], dropped);
}

TEST(Decider, spilled_records_come_back_in_order_and_memory_stays_bounded) {
  const auto log = log_with({20'000, 3'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), uint64_t{1} << 30);
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(64));
  EXPECT_EQ(log->reads(0), 20'000) << "the whole log is taken in, far beyond memory";
  EXPECT_GT(options.spill->used(), 30'000'000u);
  log->end();
  std::map<char, int> next;
  int64_t at = 0;
  while (!stream.decider.end() || at < *stream.decider.end()) {
    ASSERT_TRUE(stream.request(at + 64));
    const int64_t to = std::min(at + 64, stream.decider.end().value_or(at + 64));
    for (const std::string& key : keys(stream, at, to)) ASSERT_EQ(key.substr(2), std::to_string(++next[key[0]]));
    EXPECT_LT(stream.bytes(), 2'500'000u);
    stream.behind(at = to);
  }
  EXPECT_EQ(next, (std::map<char, int>{{'a', 20'000}, {'b', 3'000}}));
  (void)stream.decider.drop_records();
  EXPECT_EQ(options.spill->used(), 0u);
}

TEST(Decider, records_wait_where_they_are_while_the_disk_is_full_and_go_there_when_it_has_room_again) {
  uint64_t room = 3'000'000;
  int warnings = 0;
  ManualClock clock;
  set_log_sink([&](const std::string& line) { warnings += line.find("the disk of ") != std::string::npos ? 1 : 0; });
  const auto log = log_with({20'000, 2'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(
      testing::TempDir(), uint64_t{1} << 30,
      [&](int file, const void* bytes, size_t size, uint64_t at) {
        errno = ENOSPC;
        return at + size <= room && write_all(file, bytes, size, at);
      },
      clock);
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  std::map<char, int> next;
  int64_t at = 0;
  const auto go_on_to = [&](int64_t end) {
    for (; at < end; at += 64) {
      ASSERT_TRUE(stream.request(at + 64)) << stream.decider.failure().to_string();
      for (const std::string& key : keys(stream, at, at + 64)) ASSERT_EQ(key.substr(2), std::to_string(++next[key[0]]));
      EXPECT_LT(stream.bytes(), 4'000'000u);
      stream.behind(at + 64);
    }
  };
  go_on_to(3'200);
  EXPECT_LT(log->reads(0) + log->reads(1), 3'200 + 5'000) << "as much as the disk took, and what fits into memory";
  EXPECT_EQ(warnings, 1);
  const int64_t taken_in = log->reads(0);
  room = uint64_t{1} << 30;
  go_on_to(at + 64);
  EXPECT_LT(log->reads(0), taken_in + 100) << "the disk is not tried again at once";
  clock.advance(1s);
  go_on_to(at + 64);
  EXPECT_EQ(log->reads(0), 20'000) << "the whole log is taken in";
  go_on_to(21'952);
  EXPECT_EQ(warnings, 1);
  set_log_sink(nullptr);
}

TEST(Decider, a_full_budget_of_the_disk_makes_records_wait_where_they_are) {
  const auto log = log_with({50'000}, 3'000);
  StreamOptions options = decisions_of(64);
  options.policy = BufferPolicy::kSpill;
  options.bytes = 1'000'000;
  options.spill = *SpillSpace::open(testing::TempDir(), 20'000'000);
  ReadByHand stream(log, options);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(64));
  EXPECT_LT(log->reads(0), 12'000);
  for (int64_t at = 0; at < 49'000; at += 64) {
    ASSERT_TRUE(stream.request(at + 64));
    ASSERT_EQ(stream.record(at)->offset, std::to_string(at + 1));
    stream.behind(at + 64);
  }
}

// Each of N records that arrived for a decision of C stays with the probability C / N, whatever its
// place and its partition.
TEST(Decider, a_sample_is_uniform_over_what_arrived) {
  constexpr int kDecision = 20, kArrived = 100, kRuns = 400;
  std::vector<double> stayed(kArrived);
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto waiting = make_waiting_sample({.seed = seed, .decision_records = kDecision}, 2, /*decides=*/true);
    ASSERT_TRUE(waiting->begin_decision(0, std::nullopt).ok());
    for (int i = 0; i < kArrived; ++i) {
      LogRecord record;
      record.partition = static_cast<size_t>(i % 2);
      record.offset = std::to_string(i / 2 + 1);
      ASSERT_TRUE(waiting->add(std::move(record)).ok());
    }
    const Result<WaitingRecords::Taken> taken = waiting->take(waiting->counts());
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

// A guide that repeats the decisions that it received as an observer.
class Recorded final : public DecisionObserver, public DecisionGuide {
 public:
  void decided(const Decision& decision) override { decisions.push_back(decision); }
  Result<Answer> at(int64_t first) override {
    for (const Decision& decision : decisions) {
      if (decision.first == first) return Answer{Kind::kDecision, decision};
    }
    return Answer{Kind::kEnd, {}};
  }
  std::vector<Decision> decisions;
};

TEST(Decider, what_was_decided_can_be_repeated_under_every_policy) {
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
      ReadByHand stream(log, options);
      stream.seek(stream.beginning());
      stream.decider.set_observer(recorded, 0);
      std::mt19937_64 draw(1);
      for (int64_t at = 0; at < 500; at += 50) {
        log->append(draw() % 2, static_cast<int64_t>(draw() % 400));
        ASSERT_TRUE(stream.request(at + 50));
        for (const std::string& key : keys(stream, at, at + 50)) given.push_back(key);
        stream.behind(at + 50);
        log->append(0, 60);
      }
    }
    options.bytes = 60'000;
    ReadByHand again(log, options);
    again.decider.set_guide(recorded);
    again.seek(again.beginning());
    std::vector<std::string> repeated;
    for (int64_t at = 0; at < 500; at += 50) {
      ASSERT_TRUE(again.request(at + 50)) << static_cast<int>(policy) << ": " << again.decider.failure().message();
      for (const std::string& key : keys(again, at, at + 50)) repeated.push_back(key);
      again.behind(at + 50);
    }
    EXPECT_EQ(repeated, given) << static_cast<int>(policy);
  }
}

// The records are parts of one answer of a server.
TEST(Decider, a_sample_does_not_keep_what_its_records_were_read_with) {
  const auto waiting = make_waiting_sample({.decision_records = 4}, 1, true);
  ASSERT_TRUE(waiting->begin_decision(0, std::nullopt).ok());
  const auto owner = std::make_shared<std::vector<uint8_t>>(10'000);
  {
    const Buffer answer(owner->data(), owner->size(), owner);
    for (size_t i = 0; i < 100; ++i)
      ASSERT_TRUE(waiting->add({0, std::to_string(i + 1), "key", answer.slice(i * 100, 100)}).ok());
  }
  EXPECT_EQ(waiting->counts(), std::vector<size_t>{4});
  EXPECT_EQ(owner.use_count(), 1);
}

// Records that other ranks dropped must be read, too. They may be all that a decision has of a
// partition.
TEST(Decider, a_decision_that_only_drops_of_a_partition_is_followed_without_room) {
  const auto log = log_with({60, 100}, 500);
  StreamOptions options = decisions_of(50);
  options.bytes = 10'000;
  const auto recorded = std::make_shared<Recorded>();
  recorded->decisions = {{0, {{1, "50", 50, 0}}, 0}, {50, {{0, "60", 0, 60}, {1, "100", 50, 0}}, 0}};
  ReadByHand stream(log, options);
  stream.decider.set_guide(recorded);
  stream.seek(stream.beginning());
  ASSERT_TRUE(stream.request(100));
  EXPECT_EQ(stream.decider.place(100).after, (std::vector<std::string>{"60", "100"}));
}

StreamOptions impatient(size_t records) {
  StreamOptions options = decisions_of(records);
  options.on_underrun = OnUnderrun::kRepeat;
  return options;
}

TEST(Decider, who_cannot_wait_gets_what_is_there_and_numbers_without_records) {
  const auto log = log_with({3});
  ReadByHand stream(log, impatient(4));
  stream.seek(stream.beginning());
  ASSERT_FALSE(stream.request(4));
  EXPECT_TRUE(stream.decider.decide_now(4));
  EXPECT_EQ(keys(stream, 0, 4), (std::vector<std::string>{"a/1", "a/2", "a/3", ""}));
  EXPECT_EQ(stream.decider.decided().missing(0, 4), std::vector<int64_t>{3});
  EXPECT_TRUE(stream.decider.decide_now(8));
  EXPECT_EQ(stream.decider.decided().missing(2, 7), (std::vector<int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(stream.decider.decided().missing_records(), 5);
  log->append(0, 4);
  ASSERT_TRUE(stream.request(12));
  EXPECT_EQ(keys(stream, 8, 12), (std::vector<std::string>{"a/4", "a/5", "a/6", "a/7"}));
  stream.behind(8);
  EXPECT_EQ(stream.decider.place(8).after, std::vector<std::string>{"3"}) << "nothing of the log is passed over";
  log->end();
  ASSERT_TRUE(stream.request(13));
  EXPECT_EQ(stream.decider.end(), 12) << "the end of a log is no drought";
}

TEST(Decider, the_patient_never_underrun) {
  const auto log = log_with({3});
  ReadByHand stream(log, decisions_of(4));
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.request(4));
  EXPECT_FALSE(stream.decider.decide_now(4));
}

TEST(Decider, numbers_without_records_are_repeated_and_stand_in_states) {
  for (const BufferPolicy policy : {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample}) {
    const auto log = log_with({5, 2});
    StreamOptions options = impatient(10);
    options.policy = policy;
    const auto recorded = std::make_shared<Recorded>();
    ReadByHand stream(log, options);
    stream.seek(stream.beginning());
    stream.decider.set_observer(recorded, 0);
    (void)stream.request(10);
    ASSERT_TRUE(stream.decider.decide_now(10));
    log->append(1, 10);
    ASSERT_TRUE(stream.request(20));
    const StreamPlace place = stream.decider.place(9);
    ASSERT_EQ(place.decision, (Decision{7, {}, 3}));
    EXPECT_EQ(*saved_and_loaded(place, log->partitions()), place);
    ReadByHand again(log, options);
    again.decider.set_guide(recorded);
    again.seek(again.beginning());
    ASSERT_TRUE(again.request(20));
    EXPECT_EQ(keys(again, 0, 20), keys(stream, 0, 20)) << static_cast<int>(policy);
    EXPECT_EQ(again.decider.decided().missing(0, 20), stream.decider.decided().missing(0, 20));
  }
}

// The records of the decision are read again. Until that is done, no record can be given.
TEST(Decider, who_goes_on_inside_a_decision_gets_the_rest_of_it_whatever_the_hurry) {
  for (const BufferPolicy policy : {BufferPolicy::kBlock, BufferPolicy::kDropOldest, BufferPolicy::kSample}) {
    const auto log = log_with({8, 8});
    StreamOptions options = impatient(16);
    options.shuffled = true;
    options.policy = policy;
    ReadByHand stream(log, options);
    stream.seek(stream.beginning());
    ASSERT_TRUE(stream.request(16));
    const std::vector<std::string> rest = keys(stream, 5, 16);
    ReadByHand again(log, options);
    again.seek(stream.decider.place(5));
    EXPECT_FALSE(again.decider.decide_now(10)) << "nothing is read before the first request()";
    ASSERT_TRUE(again.request(16));
    EXPECT_EQ(keys(again, 5, 16), rest) << static_cast<int>(policy);
    EXPECT_EQ(again.decider.decided().missing_records(), 0);
    EXPECT_TRUE(again.decider.decide_now(18));
    EXPECT_EQ(again.decider.decided().missing(0, 18), (std::vector<int64_t>{16, 17}))
        << "behind the decision it does not wait";
  }
}

// A guide that answers when the test lets it.
class SaidLater final : public DecisionGuide, public DecisionObserver {
 public:
  Result<Answer> at(int64_t) override {
    if (!failure.ok()) return failure;
    return next ? Answer{Kind::kDecision, *std::exchange(next, std::nullopt)} : Answer{Kind::kNotYet, {}};
  }
  std::optional<std::vector<std::string>> beginning() override { return begins_after; }
  std::string awaited() const override { return "the test"; }
  void decided(const Decision& decision) override { told.push_back(decision.first); }
  void begins(const std::vector<std::string>& after) override { begins_after = after; }
  void ended(int64_t first) override { told.push_back(-first); }
  bool may_decide() override { return may; }

  std::optional<Decision> next;
  std::optional<std::vector<std::string>> begins_after;
  Status failure;
  std::vector<int64_t> told;
  bool may = true;
};

TEST(Decider, tells_once_when_what_was_asked_for_can_be_had) {
  const auto log = log_with({3});
  ReadByHand stream(log, decisions_of(4));
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.request(4));
  log->append(0, 9);
  for (int64_t offset = 4; offset <= 8; ++offset) {
    ASSERT_TRUE(stream.decider.add({0, std::to_string(offset), "key"}).ok());
    EXPECT_EQ(stream.decider.decide_requested(), offset == 4) << offset;
  }
  EXPECT_EQ(stream.decider.decided().end(), 4) << "nobody asked for more";
}

TEST(Decider, whoever_follows_waits_for_the_guide_and_takes_what_it_says) {
  const auto log = log_with({10});
  const auto guide = std::make_shared<SaidLater>();
  ReadByHand stream(log, decisions_of(2));
  stream.decider.set_guide(guide);
  stream.seek(stream.beginning());
  EXPECT_FALSE(stream.request(1));
  EXPECT_EQ(stream.decider.awaited(), "the test");
  guide->next = {0, {{0, "5", 5, 0}}, 0};
  EXPECT_TRUE(stream.decider.decide_requested());
  EXPECT_EQ(keys(stream, 0, 5), (std::vector<std::string>{"a/1", "a/2", "a/3", "a/4", "a/5"}));
  guide->next = {5, {}, 3};
  EXPECT_TRUE(stream.request(8));
  EXPECT_EQ(stream.decider.decided().missing(0, 8), (std::vector<int64_t>{5, 6, 7}));
  guide->failure = corrupt("damaged");
  EXPECT_FALSE(stream.request(9));
  EXPECT_EQ(stream.decider.failure().message(), "damaged");
}

TEST(Decider, decides_no_more_than_its_observer_allows_and_reports_all) {
  const auto log = log_with({5});
  log->end();
  const auto told = std::make_shared<SaidLater>();
  ReadByHand stream(log, decisions_of(2));
  stream.decider.set_publisher(told);
  stream.seek(stream.beginning());
  told->may = false;
  EXPECT_FALSE(stream.request(2));
  EXPECT_EQ(stream.decider.awaited(), "the test");
  told->may = true;
  EXPECT_TRUE(stream.request(9));
  EXPECT_EQ(told->told, (std::vector<int64_t>{0, 2, 4, -5}));
  const auto late = std::make_shared<SaidLater>();
  stream.decider.set_observer(late, 2);
  EXPECT_EQ(late->told, (std::vector<int64_t>{2, 4}));
}

TEST(Decider, a_run_of_what_comes_from_now_on_says_in_its_first_decision_where_it_began) {
  StreamOptions options = decisions_of(2);
  options.from_now = true;
  const auto told = std::make_shared<SaidLater>();
  ReadByHand leads(log_with({7}), options), follows(log_with({7}), options);
  leads.decider.set_publisher(told);
  leads.seek(leads.beginning());
  ASSERT_EQ(leads.decider.resolve_beginning(), Decider::Beginning::kEndOfLog);
  leads.decider.set_beginning({"7"});
  EXPECT_EQ(told->begins_after, std::vector<std::string>{"7"});
  for (const char* const offset : {"8", "9"}) ASSERT_TRUE(leads.decider.add({0, offset, "key"}).ok());
  ASSERT_TRUE(leads.decider.request(2));
  EXPECT_EQ(leads.decider.place(1).decision->after, std::vector<std::string>{"7"});
  EXPECT_TRUE(leads.decider.place(0).began_at_log_end);

  const auto guide = std::make_shared<SaidLater>();
  follows.decider.set_guide(guide);
  follows.seek(follows.beginning());
  ASSERT_EQ(follows.decider.resolve_beginning(), Decider::Beginning::kFromGuide);
  EXPECT_FALSE(follows.decider.poll_beginning());
  guide->next = leads.decider.place(1).decision;
  EXPECT_FALSE(follows.decider.request(2));
  EXPECT_TRUE(follows.decider.poll_beginning()) << "its first decision says so";
  EXPECT_EQ(follows.decider.place(0), leads.decider.place(0));
}

TEST(Decider, says_when_more_may_be_read_and_keeps_its_first_failure) {
  ReadByHand stream(log_with({3}), decisions_of(1));
  stream.seek(stream.beginning());
  EXPECT_TRUE(stream.decider.take_change());
  EXPECT_FALSE(stream.decider.take_change());
  EXPECT_TRUE(stream.decider.set_awaited(5));
  EXPECT_FALSE(stream.decider.set_awaited(5));
  EXPECT_TRUE(stream.request(1));
  EXPECT_TRUE(stream.decider.take_change());
  stream.decider.fail(corrupt("first"));
  stream.decider.fail(corrupt("second"));
  EXPECT_TRUE(stream.decider.decide_requested()) << "also where nobody asked";
  EXPECT_FALSE(stream.decider.request(2));
  EXPECT_EQ(stream.decider.failure().message(), "first");
}

}  // namespace
}  // namespace forebay
