#include "stream/stream_itinerary.h"

#include <set>

#include <gtest/gtest.h>

#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// The numbers of the records of a step.
std::vector<int64_t> numbers_of(const StepPlan& plan) {
  std::vector<int64_t> numbers;
  for (const Row& row : plan.rows) numbers.push_back(row.id);
  return numbers;
}

// Two partitions of 50 records each, after which the log ends, if it is told to.
class StreamItineraryTest : public testing::Test {
 protected:
  void open(StreamItineraryOptions options, bool ends = true, StreamOptions decisions = decisions_of(10)) {
    if (ends) log_->end();
    stream_ = std::make_shared<AwaitedStream>(log_, decisions);
    itinerary_ = std::make_unique<StreamItinerary>(stream_, options);
    go_to({}, 0);
  }
  void go_to(const Cursor& at, int64_t number) {
    StreamPlace place = stream_->beginning();
    place.number = number;
    stream_->seek(std::move(place));
    itinerary_->set_anchor(at, number);
  }
  std::optional<StepPlan> step(const Cursor& at) {
    const bool known = stream_->wait_for([&] { return itinerary_->request_step(at) || itinerary_->finished(at); });
    return known ? itinerary_->step(at) : std::nullopt;
  }
  std::vector<int64_t> numbers(const Cursor& at) {
    const auto plan = step(at);
    return plan ? numbers_of(*plan) : std::vector<int64_t>();
  }
  static std::vector<int64_t> from(int64_t first, int64_t last) {
    std::vector<int64_t> numbers;
    for (int64_t i = first; i <= last; ++i) numbers.push_back(i);
    return numbers;
  }

  const std::shared_ptr<MemoryLog> log_ = log_with({50, 50});
  std::shared_ptr<AwaitedStream> stream_;
  std::unique_ptr<StreamItinerary> itinerary_;
};

TEST_F(StreamItineraryTest, each_step_has_the_next_records) {
  open({.batch_size = 4});
  Cursor at;
  for (int64_t i = 0; i < 25; ++i) {
    const auto plan = step(at);
    ASSERT_TRUE(plan) << i;
    EXPECT_EQ(numbers_of(*plan), from(4 * i, 4 * i + 3));
    EXPECT_EQ(plan->at, at);
    at = plan->after;
    EXPECT_EQ(at, (Cursor{0, 4 * (i + 1), i + 1}));
  }
  EXPECT_FALSE(step(at));
  EXPECT_TRUE(itinerary_->finished(at));
}

TEST_F(StreamItineraryTest, the_ranks_of_a_step_divide_its_records) {
  std::set<int64_t> all;
  for (int64_t rank = 0; rank < 3; ++rank) {
    open({.batch_size = 2, .world_size = 3, .rank = rank});
    const std::vector<int64_t> own = numbers({0, 6, 1});
    EXPECT_EQ(own.size(), 2u);
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(std::vector<int64_t>(all.begin(), all.end()), from(6, 11));
}

TEST_F(StreamItineraryTest, the_last_records_are_a_smaller_step_or_none) {
  open({.batch_size = 30});
  EXPECT_EQ(numbers({0, 90, 3}), from(90, 99));
  EXPECT_EQ(step({0, 90, 3})->after, (Cursor{0, 100, 4}));
  EXPECT_EQ(itinerary_->size_at(100), 0);
  open({.batch_size = 30, .last = LastPolicy::kDrop});
  EXPECT_FALSE(step({0, 90, 3}));
  EXPECT_TRUE(itinerary_->finished({0, 90, 3}));
  EXPECT_FALSE(itinerary_->finished({0, 60, 2}));
}

TEST_F(StreamItineraryTest, an_epoch_has_a_number_of_steps_and_the_next_goes_on_behind_it) {
  open({.batch_size = 4, .steps_per_epoch = 3, .epochs = 2});
  EXPECT_EQ(itinerary_->batches({}), 3);
  EXPECT_EQ(step({0, 8, 2})->after, (Cursor{1, 0, 0})) << "the end of an epoch is the beginning of the next";
  EXPECT_TRUE(itinerary_->epoch_over({0, 12, 3}));
  EXPECT_FALSE(itinerary_->epoch_over({0, 8, 2}));
  EXPECT_EQ(itinerary_->normalized({0, 12, 3}), (Cursor{1, 0, 0}));
  EXPECT_EQ(numbers({1, 0, 0}), from(12, 15));
  EXPECT_EQ(numbers({1, 8, 2}), from(20, 23));
  EXPECT_TRUE(itinerary_->finished({2, 0, 0})) << "two epochs were wanted";
  EXPECT_FALSE(itinerary_->finished({1, 8, 2}));
}

TEST_F(StreamItineraryTest, without_a_number_of_steps_the_first_epoch_has_no_end) {
  open({.batch_size = 4});
  EXPECT_EQ(itinerary_->batches({}), std::nullopt);
  EXPECT_FALSE(itinerary_->epoch_over({0, 1 << 20, 1 << 18}));
}

TEST_F(StreamItineraryTest, numbers_follow_from_the_place_where_the_run_stands) {
  open({.batch_size = 4, .steps_per_epoch = 3});
  go_to({5, 4, 1}, 40);
  EXPECT_EQ(itinerary_->number_at({5, 4, 1}), 40);
  EXPECT_EQ(itinerary_->number_at({5, 8, 2}), 44);
  EXPECT_EQ(itinerary_->number_at({5, 12, 3}), 48);
  EXPECT_EQ(itinerary_->number_at({6, 4, 1}), 52);
  EXPECT_EQ(itinerary_->number_at({8, 0, 0}), 72);
}

TEST_F(StreamItineraryTest, a_step_is_known_once_all_of_its_records_have_arrived) {
  open({.batch_size = 60}, false);
  ASSERT_TRUE(stream_->wait_for([&] { return itinerary_->request_step({}); }));
  EXPECT_FALSE(itinerary_->request_step({0, 60, 1})) << "40 of its 60 records are there";
  EXPECT_FALSE(itinerary_->step({0, 60, 1}));
  EXPECT_NE(itinerary_->awaited().find("records of memory"), std::string::npos) << itinerary_->awaited();
  log_->append(0, 20);
  EXPECT_TRUE(stream_->wait_for([&] { return itinerary_->request_step({0, 60, 1}); }));
}

TEST_F(StreamItineraryTest, a_step_that_cannot_wait_has_vacant_rows_for_the_records_that_it_lacks) {
  StreamOptions options = decisions_of(8);
  options.on_underrun = OnUnderrun::kRepeat;
  const auto log = log_with({5});
  const auto stream = std::make_shared<AwaitedStream>(log, options);
  for (int64_t rank = 0; rank < 2; ++rank) {
    StreamItinerary itinerary(stream, {.batch_size = 4, .world_size = 2, .rank = rank});
    stream->seek(stream->beginning());
    itinerary.set_anchor({}, 0);
    EXPECT_FALSE(itinerary.request_step({}));
    ASSERT_TRUE(log->wait_idle(1));
    itinerary.set_awaited({});
    ASSERT_TRUE(itinerary.decide_now({}));
    const auto plan = itinerary.step({});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->missing_rows_of_all, 3);
    for (const MissingRow& one : plan->missing_rows) {
      const int64_t number = plan->rows[one.row].id;
      EXPECT_EQ(number, 5 + one.number) << "each is the row of its number among all that lack a record";
    }
    EXPECT_EQ(plan->rows.size(), 4u);
    stream->stop();
  }
}

TEST_F(StreamItineraryTest, a_corrupt_log_is_named) {
  open({.batch_size = 200}, false);
  log_->fail(corrupt("a broken record"));
  EXPECT_FALSE(step({}));
  EXPECT_EQ(itinerary_->failure().code(), Code::kCorrupt);
  EXPECT_EQ(itinerary_->failure().key(), "memory");
}

// Records of other ranks are brought some steps ahead, and a step waits for its own.
class BroughtRecords final : public StepRecords {
 public:
  void start_fetch(std::span<const int64_t> numbers) override { brought.insert(numbers.begin(), numbers.end()); }
  bool all_available(std::span<const int64_t> numbers) const override {
    return std::ranges::all_of(numbers, [&](int64_t number) { return number < there; });
  }
  std::string awaited() const override { return there < 100 ? "a record of rank 1" : ""; }
  std::set<int64_t> brought;
  int64_t there = 0;
};

TEST_F(StreamItineraryTest, a_step_waits_for_those_of_its_records_that_another_rank_reads) {
  open({.batch_size = 2, .world_size = 2, .rank = 0});
  const auto records = std::make_shared<BroughtRecords>();
  itinerary_->set_records(records);
  ASSERT_TRUE(wait_known(*stream_, 40));
  EXPECT_FALSE(itinerary_->request_step({}));
  EXPECT_EQ(itinerary_->awaited(), "a record of rank 1");
  EXPECT_EQ(records->brought.size(), 16u) << "this rank's two of each of eight steps";
  records->there = 4;
  EXPECT_TRUE(itinerary_->request_step({}));
  EXPECT_FALSE(itinerary_->request_step({0, 4, 1}));
  EXPECT_EQ(records->brought.size(), 18u) << "each record is requested once";
}

}  // namespace
}  // namespace forebay
