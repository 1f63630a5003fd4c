#include "stream/ranks/record_exchange.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>

#include <gtest/gtest.h>

#include "stream/record_bytes.h"
#include "stream/replay_records.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

constexpr int kRanks = 3;

// The system's clock, set forward.
class LateClock final : public StreamClock {
 public:
  Time now() const override { return StreamClock::now() + late.load(); }
  std::atomic<std::chrono::milliseconds> late = 0ms;
};

Status restore(ReplayRecords& records, const std::vector<PlacedRecord>& places) {
  FOREBAY_ASSIGN(const ReplayRecords::Saved saved, records.read(places));
  records.restore(saved);
  return {};
}

// The ranks of a job over one log, which ask each other without a network.
class RecordExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      kept_.push_back(std::make_shared<ReplayRecords>(log_, ReplayRecordsOptions{.share = {rank, kRanks}}));
      streams_.push_back(std::make_unique<AwaitedStream>(log_, decisions_of(10)));
      streams_.back()->seek(streams_.back()->beginning());
      ASSERT_TRUE(wait_known(*streams_.back(), 30));
      gone_[rank] = false;
    }
    exchange_ = std::make_unique<RecordExchange>(
        *kept_[0],
        [this](int rank, std::span<const int64_t> numbers, const std::stop_token&) { return ask(rank, numbers); },
        clock_);
    exchange_->on_arrival([this] { note(arrivals_); });
  }
  void TearDown() override { exchange_->close(); }

  Result<std::vector<ResponseItem>> ask(int rank, std::span<const int64_t> numbers) {
    note(asked_);
    if (rank == 2 && before_rank_2_) std::exchange(before_rank_2_, nullptr)();
    largest_ = std::max<size_t>(largest_, numbers.size());
    if (numbers.size() > bearable_) {
      clock_.late = clock_.late.load() + 600ms;  // as an answer that does not come in time
      return unavailable("too much for a second");
    }
    if (gone_[rank]) return unavailable("nobody is there");
    std::vector<ResponseItem> answers;
    for (const int64_t number : numbers) {
      ResponseItem answer;
      if (kept_[rank]->may_still_add(number)) answer.state = ResponseItem::State::kComing;
      if (const std::optional<Buffer> bytes = kept_[rank]->bytes_of(number)) {
        answer.state = ResponseItem::State::kHere;
        answer.body = *bytes;
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  }
  // What a step of rank 0 does.
  void start_fetch(std::vector<int64_t> numbers) { exchange_->start_fetch(kept_[0]->pin(numbers)); }
  bool wait_here(const std::vector<int64_t>& numbers) {
    return wait_until([&] { return kept_[0]->all_available(numbers) || !exchange_->failure().ok(); }) &&
           kept_[0]->all_available(numbers);
  }
  // Until something is so that comes with an arrival, or with a question.
  template <typename Condition>
  bool wait_until(Condition condition) {
    std::unique_lock lock(mutex_);
    return noted_.wait_for(lock, kStreamPatience, condition);
  }
  void note(std::atomic<int>& counter) {
    const std::lock_guard lock(mutex_);
    ++counter;
    noted_.notify_all();
  }
  void retain(int rank, std::vector<int64_t> numbers, int64_t seen = 30) {
    ASSERT_TRUE(kept_[rank]->retain(*streams_[rank], numbers, seen).ok());
  }
  std::string key(int64_t number) {
    const auto record = kept_[0]->record(number);
    return record ? record->key : "";
  }
  std::string place_of(int64_t number) { return "a/" + std::to_string(number + 1); }

  std::shared_ptr<MemoryLog> log_ = log_with({100}, 1000);
  std::vector<std::shared_ptr<ReplayRecords>> kept_;
  std::vector<std::unique_ptr<AwaitedStream>> streams_;
  std::atomic<bool> gone_[kRanks];
  std::atomic<size_t> bearable_ = 1000, largest_ = 0;
  std::atomic<int> asked_ = 0, arrivals_ = 0;
  LateClock clock_;
  std::mutex mutex_;
  std::condition_variable noted_;
  std::function<void()> before_rank_2_;  // done once, by the exchange's thread: set before start_fetch()
  std::unique_ptr<RecordExchange> exchange_;
};

TEST_F(RecordExchangeTest, each_rank_retains_its_share_and_receives_the_rest) {
  const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, all);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(kept_[rank]->contains(4));
    EXPECT_EQ(kept_[rank]->memory()->bytes() / 1000, 3u) << "a third of nine";
    EXPECT_EQ(kept_[rank]->places(all), kept_[0]->places(all)) << "every rank can say where all lie";
  }
  EXPECT_EQ(key(4), "");
  start_fetch(all);
  ASSERT_TRUE(wait_here(all));
  for (const int64_t number : all) EXPECT_EQ(key(number), place_of(number));
  // Records are available before they are counted, and counted before the arrival is reported.
  EXPECT_TRUE(wait_until([&] { return arrivals_ > 0 && exchange_->stats().received == 6; }));
  kept_[0]->unpin(all);
  EXPECT_EQ(key(4), "");
  EXPECT_EQ(key(3), place_of(3)) << "its own stays";
  EXPECT_EQ(kept_[0]->memory()->bytes() / 1000, 3u);
}

TEST_F(RecordExchangeTest, what_two_steps_have_stays_until_both_are_behind) {
  retain(0, {1});
  retain(1, {1});
  start_fetch({1});
  start_fetch({1});
  ASSERT_TRUE(wait_here({1}));
  kept_[0]->unpin(std::vector<int64_t>{1});
  EXPECT_EQ(key(1), place_of(1));
  kept_[0]->unpin(std::vector<int64_t>{1});
  EXPECT_EQ(key(1), "");
  EXPECT_TRUE(wait_until([&] { return exchange_->stats().received == 1; }));
}

TEST_F(RecordExchangeTest, what_is_borrowed_again_while_others_are_asked_comes_again) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 2});
  // Rank 1 has lent its own by then. The step that had it ends, and the next one has it, too.
  before_rank_2_ = [this] {
    kept_[0]->unpin(std::vector<int64_t>{1});
    start_fetch({1});
  };
  start_fetch({1, 2});
  ASSERT_TRUE(wait_here({1, 2})) << exchange_->awaited();
  EXPECT_EQ(key(1), place_of(1));
}

TEST_F(RecordExchangeTest, a_system_without_memory_is_an_error_of_the_run) {
  retain(0, {2});
  retain(2, {2});
  before_rank_2_ = [] { throw std::bad_alloc(); };
  start_fetch({2});
  EXPECT_FALSE(wait_here({2}));
  EXPECT_EQ(exchange_->failure().code(), Code::kOutOfBudget);
  exchange_->begin_run();
  kept_[0]->unpin(std::vector<int64_t>{2});
  start_fetch({2});
  EXPECT_TRUE(wait_here({2})) << exchange_->failure().to_string();
}

TEST_F(RecordExchangeTest, a_record_that_is_kept_again_is_counted_once) {
  retain(0, {0, 3});
  retain(0, {3, 6});
  EXPECT_EQ(kept_[0]->memory()->bytes() / 1000, 3u);
  kept_[0]->release(std::vector<int64_t>{0, 3, 6});
  EXPECT_EQ(kept_[0]->memory()->bytes(), 0u);
}

TEST_F(RecordExchangeTest, a_rank_that_is_behind_is_waited_for) {
  retain(0, {1, 2, 4});
  retain(2, {1, 2, 4});
  start_fetch({1, 2, 4});
  ASSERT_TRUE(wait_until([&] { return asked_ >= 10; }));
  EXPECT_FALSE(kept_[0]->all_available(std::vector<int64_t>{1, 4})) << "rank 1 has not come to them";
  EXPECT_NE(exchange_->awaited().find("rank 1"), std::string::npos) << exchange_->awaited();
  retain(1, {1, 2, 4});
  ASSERT_TRUE(wait_here({1, 2, 4}));
  EXPECT_EQ(exchange_->stats().reread, 0);
  EXPECT_EQ(exchange_->awaited(), "");
}

TEST_F(RecordExchangeTest, of_what_is_too_large_for_one_answer_fewer_are_asked_for_at_a_time) {
  std::vector<int64_t> all;
  for (int64_t number = 1; number < 28; number += 3) all.push_back(number);
  retain(0, all);
  retain(1, all);
  bearable_ = 2;
  start_fetch(all);
  ASSERT_TRUE(wait_here(all));
  EXPECT_EQ(largest_, all.size());
  EXPECT_EQ(exchange_->stats().received, static_cast<int64_t>(all.size()));
}

TEST_F(RecordExchangeTest, what_a_dead_rank_kept_is_read_again_from_the_log) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 2, 4});
  gone_[1] = true;
  start_fetch({1, 2, 4});
  ASSERT_TRUE(wait_here({1, 2, 4}));
  for (const int64_t number : {1, 2, 4}) EXPECT_EQ(key(number), place_of(number));
  EXPECT_EQ(exchange_->stats().reread, 2);
  EXPECT_TRUE(wait_until([&] { return exchange_->stats().received == 1; }));
}

TEST_F(RecordExchangeTest, for_what_nobody_has_any_more_another_one_stands_in_and_is_counted) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 3, 6});
  gone_[1] = true;
  log_->trim(0, 20);
  start_fetch({1});
  ASSERT_TRUE(wait_here({1}));
  EXPECT_TRUE(key(1) == place_of(3) || key(1) == place_of(6)) << key(1);
  EXPECT_EQ(exchange_->stats().lost, 1);
}

// Nothing comes from there, and nothing will: the log's word that it is gone is all there is.
TEST_F(RecordExchangeTest, what_an_empty_partition_has_forgotten_is_not_waited_for) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 3, 6});
  gone_[1] = true;
  log_->trim(0, 100);
  const Status found = read_record(*log_, {0, "2", "1"}, {}).status();
  EXPECT_EQ(found.code(), Code::kNotFound) << "and not Unavailable, after a long wait: " << found.to_string();
  start_fetch({1});
  ASSERT_TRUE(wait_here({1})) << exchange_->failure().message();
  EXPECT_EQ(exchange_->stats().lost, 1);
}

TEST_F(RecordExchangeTest, where_nothing_can_stand_in_the_run_ends_with_the_reason) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1});
  gone_[1] = true;
  log_->trim(0, 20);
  start_fetch({1});
  EXPECT_FALSE(wait_here({1}));
  EXPECT_NE(exchange_->failure().message().find("has forgotten '2'"), std::string::npos)
      << exchange_->failure().message();
  exchange_->begin_run();
  EXPECT_TRUE(exchange_->failure().ok()) << "of another run nothing is known";
}

TEST_F(RecordExchangeTest, who_is_late_still_gets_what_was_just_let_go_of) {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 30; ++i) many.push_back(i);
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, many);
  kept_[1]->release(std::vector<int64_t>{1});
  EXPECT_TRUE(kept_[1]->bytes_of(1)) << "one of ten, and an eighth more may be held";
  kept_[1]->release(std::vector<int64_t>{4});
  EXPECT_FALSE(kept_[1]->bytes_of(1)) << "not for ever";
  EXPECT_TRUE(kept_[1]->bytes_of(4));
  start_fetch({4});
  ASSERT_TRUE(wait_here({4}));
  EXPECT_TRUE(wait_until([&] { return exchange_->stats().received == 1; }));
}

TEST_F(RecordExchangeTest, bytes_of_another_record_are_not_taken_for_it) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 4});
  (void)kept_[0]->pin(std::vector<int64_t>{1});
  EXPECT_EQ(kept_[0]->receive(1, *kept_[1]->bytes_of(4)).code(), Code::kCorrupt);
  Buffer damaged = *kept_[1]->bytes_of(1);
  damaged.data()[damaged.size() - 1] ^= 1;
  EXPECT_EQ(kept_[0]->receive(1, damaged).code(), Code::kCorrupt);
  EXPECT_EQ(key(1), "");
  EXPECT_TRUE(kept_[0]->receive(1, *kept_[1]->bytes_of(1)).ok());
  EXPECT_EQ(key(1), place_of(1));
}

// While the record is read again from the log, the run continues at a place where another record
// has its number.
TEST_F(RecordExchangeTest, what_is_read_again_for_a_run_that_is_over_is_not_lent_to_the_next_one) {
  retain(0, {1, 3});
  const std::vector<PlacedRecord> other{{1, {0, "6", "5"}}, {3, {0, "4", "3"}}};
  const auto continue_elsewhere = [&] {
    log_->before_reader = nullptr;
    ASSERT_TRUE(restore(*kept_[0], other).ok());
    kept_[0]->begin(8);
    EXPECT_EQ(kept_[0]->pin(std::vector<int64_t>{1}).size(), 1u);
  };
  (void)kept_[0]->pin(std::vector<int64_t>{1});
  log_->before_reader = [&] { continue_elsewhere(); };
  EXPECT_TRUE(kept_[0]->read_from_log(1, {}).ok());
  EXPECT_EQ(key(1), "");
  EXPECT_TRUE(kept_[0]->read_from_log(1, {}).ok());
  EXPECT_EQ(key(1), "a/6");
}

TEST_F(RecordExchangeTest, what_a_run_that_is_over_did_not_find_is_not_replaced_in_the_next_one) {
  retain(0, {1, 3});
  const std::vector<PlacedRecord> other{{1, {0, "6", "5"}}, {3, {0, "4", "3"}}};
  (void)kept_[0]->pin(std::vector<int64_t>{1});
  log_->trim(0, 2);
  EXPECT_EQ(kept_[0]->read_from_log(1, {}).code(), Code::kNotFound);
  ASSERT_TRUE(restore(*kept_[0], other).ok());
  kept_[0]->begin(8);
  (void)kept_[0]->pin(std::vector<int64_t>{1});
  EXPECT_TRUE(kept_[0]->replace(1));
  EXPECT_EQ(key(1), "");
  EXPECT_TRUE(kept_[0]->read_from_log(1, {}).ok());
  EXPECT_EQ(key(1), "a/6");
}

TEST_F(RecordExchangeTest, a_state_brings_each_rank_its_share) {
  for (int rank = 0; rank < kRanks; ++rank) retain(rank, {1, 2, 4, 6});
  const std::vector<PlacedRecord> places = kept_[0]->places(std::vector<int64_t>{1, 2, 4, 6});
  ReplayRecords alone(log_), second(log_, {.share = {1, 2}});
  ASSERT_TRUE(restore(alone, places).ok());
  ASSERT_TRUE(restore(second, places).ok());
  EXPECT_EQ(alone.memory()->bytes() / 1000, 4u);
  EXPECT_EQ(second.memory()->bytes() / 1000, 1u);
  EXPECT_EQ(second.record(1)->key, place_of(1));
  EXPECT_EQ(second.places(std::vector<int64_t>{1, 2, 4, 6}), places);
}

// As above, with memory for two records and a disk for three more: one is only in the log.
TEST_F(RecordExchangeTest, what_memory_has_no_room_for_comes_from_the_disk_and_then_from_the_log) {
  const std::vector<int64_t> own{0, 3, 6, 9, 12, 15};
  const std::shared_ptr<ReplayDisk> disk = *ReplayDisk::open(testing::TempDir(), 4'000);
  exchange_->close();
  kept_[0] = std::make_shared<ReplayRecords>(log_, ReplayRecordsOptions{{0, kRanks}, 2'500, disk});
  exchange_ = std::make_unique<RecordExchange>(*kept_[0], [](int, std::span<const int64_t>, const std::stop_token&) {
    return Result<std::vector<ResponseItem>>(unavailable("nobody is asked"));
  });
  exchange_->on_arrival([this] { note(arrivals_); });
  retain(0, own);
  EXPECT_LT(kept_[0]->memory()->bytes(), 2'500u);
  EXPECT_EQ(key(3), place_of(3));
  EXPECT_EQ(key(6), "") << "on disk";
  EXPECT_TRUE(kept_[0]->bytes_of(6)) << "others can have it all the same";
  EXPECT_FALSE(kept_[0]->bytes_of(15));
  start_fetch(own);
  ASSERT_TRUE(wait_here(own));
  for (const int64_t number : own) EXPECT_EQ(key(number), place_of(number));
  EXPECT_EQ(exchange_->stats().reread, 1);
  EXPECT_EQ(exchange_->stats().received, 0);
  const uint64_t used = disk->used();
  EXPECT_GT(used, 3'000u);
  kept_[0]->unpin(own);
  kept_[0]->release(own);
  EXPECT_EQ(kept_[0]->memory()->bytes(), 0u);
  retain(0, {18, 21, 24, 27});
  EXPECT_EQ(disk->used(), used) << "its room is used again";
}

TEST_F(RecordExchangeTest, a_state_with_many_records_is_read_by_several_and_one_that_is_gone_is_named) {
  std::vector<int64_t> all;
  for (int64_t number = 0; number < 30; ++number) all.push_back(number);
  retain(0, all);
  const std::vector<PlacedRecord> places = kept_[0]->places(all);
  ReplayRecords other(log_);
  ASSERT_TRUE(restore(other, places).ok());
  for (const int64_t number : all) EXPECT_EQ(other.record(number)->key, place_of(number));
  log_->trim(0, 5);
  const Status status = restore(other, places);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("has forgotten '"), std::string::npos) << status.message();
  EXPECT_EQ(other.record(3)->key, place_of(3)) << "what was kept is still kept";
}

// Rank 1 has the record and says so for ever, but does not send it.
TEST_F(RecordExchangeTest, closing_waits_for_no_record) {
  retain(0, {1});
  start_fetch({1});
  ASSERT_TRUE(wait_until([this] { return asked_ > 2; })) << "it is asked for again and again";
  exchange_->close();
  EXPECT_FALSE(kept_[0]->all_available(std::vector<int64_t>{1}));
}

TEST(RecordBytes, come_back_as_they_were_or_not_at_all) {
  LogRecord record{3, "1700-4", "the key"};
  record.payload = Buffer::allocate(100);
  std::fill_n(record.payload.data(), 100, uint8_t{7});
  const Buffer bytes = record_bytes(record);
  EXPECT_EQ(record_size(bytes.data()), bytes.size());
  const Result<LogRecord> back = parse_record(bytes, 3);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->offset, record.offset);
  EXPECT_EQ(back->key, record.key);
  EXPECT_EQ(back->payload.size(), 100u);
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(parse_record(bytes.slice(0, length), 3).ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    Buffer damaged = Buffer::allocate(bytes.size());
    std::copy_n(bytes.data(), bytes.size(), damaged.data());
    damaged.data()[at] ^= 0x80;
    EXPECT_EQ(parse_record(damaged, 3).status().code(), Code::kCorrupt) << "byte " << at;
  }
}

}  // namespace
}  // namespace forebay
