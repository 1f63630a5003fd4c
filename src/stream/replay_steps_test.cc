#include "stream/replay_steps.h"

#include <set>

#include <gtest/gtest.h>

#include "stream/stream_itinerary.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

/// The records of a stream of one rank. It notes which of them are in the replay buffer.
class NotedSamples final : public StepSamples {
 public:
  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const override {
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = step.at.position; number < step.after.position; ++number) samples.push_back({number, 0});
    return samples;
  }
  Status retain(std::span<const Rehearsal::Sample>, std::span<const int64_t> entered) override {
    kept.insert(entered.begin(), entered.end());
    return {};
  }
  void release(std::span<const int64_t> left) override {
    for (const int64_t id : left) kept.erase(id);
  }
  std::set<int64_t> kept;
};

TEST(ReplaySteps, what_another_run_kept_is_let_go_of) {
  const auto stream = std::make_shared<AwaitedStream>(log_with({100}), decisions_of(4));
  stream->seek(stream->beginning());
  ASSERT_TRUE(wait_known(*stream, 16));
  const auto samples = std::make_shared<NotedSamples>();
  const RehearsalOptions options{.seed = 1, .policy = RehearsalPolicy::kRecent, .capacity = 4, .draws = 1};
  ReplaySteps itinerary(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{.batch_size = 4}), samples,
                        options, 1, 0);
  const auto first = itinerary.step({});
  ASSERT_TRUE(first);
  EXPECT_EQ(samples->kept, (std::set<int64_t>{0, 1, 2, 3}));
  auto planned = itinerary.step(first->after);
  ASSERT_TRUE(planned);
  EXPECT_EQ(samples->kept, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << "what left stays until its step is behind";
  // What one of these steps adds leaves in the next one.
  for (int more = 0; more < 2; ++more) {
    planned = itinerary.step(planned->after);
    ASSERT_TRUE(planned);
  }
  itinerary.delivered(first->after);
  Rehearsal goes_on(options);
  goes_on.restore({{0, {.seen = 2, .samples = {{.id = 2}, {.id = 5}}}}});
  itinerary.resume_with(goes_on);
  EXPECT_EQ(samples->kept, (std::set<int64_t>{2, 5}));
  itinerary.resume_with(Rehearsal(options));
  EXPECT_EQ(samples->kept, std::set<int64_t>());
}

/// Samples whose records cannot be read.
class UnreadableSamples final : public StepSamples {
 public:
  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan&) const override {
    return Status(Code::kCorrupt, "unreadable");
  }
};

TEST(ReplaySteps, behind_a_failure_nothing_is_known_that_somebody_could_plan_for_ever) {
  const auto stream = std::make_shared<AwaitedStream>(log_with({100}), decisions_of(4));
  stream->seek(stream->beginning());
  ASSERT_TRUE(wait_known(*stream, 4));
  ReplaySteps itinerary(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{.batch_size = 4}),
                        std::make_shared<UnreadableSamples>(), {.seed = 1, .capacity = 4, .draws = 1}, 1, 0);
  EXPECT_TRUE(itinerary.request_step({}));
  EXPECT_FALSE(itinerary.step({}));
  EXPECT_EQ(itinerary.failure().code(), Code::kCorrupt);
  EXPECT_FALSE(itinerary.request_step({}));
}

/// A run over a stream with a replay buffer, on one of two ranks.
class ReplayStepsTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_->seek(stream_->beginning());
    ASSERT_TRUE(wait_known(*stream_, 100));
  }
  std::unique_ptr<ReplaySteps> steps(int64_t rank, int64_t batch_size = 4) {
    const RehearsalOptions options{.seed = 3, .policy = RehearsalPolicy::kRecent, .capacity = 8, .draws = 4};
    return std::make_unique<ReplaySteps>(
        std::make_shared<StreamItinerary>(
            stream_, StreamItineraryOptions{.batch_size = batch_size, .world_size = 2, .rank = rank}),
        samples_, options, 2, rank);
  }
  // The numbers of the replayed samples of a step.
  static std::vector<int64_t> replayed(const StepPlan& plan) {
    std::vector<int64_t> ids;
    for (const Row& row : plan.rows) {
      if (row.replayed) ids.push_back(row.id);
    }
    return ids;
  }

  const std::shared_ptr<MemoryLog> log_ = log_with({100});
  const std::shared_ptr<AwaitedStream> stream_ = std::make_shared<AwaitedStream>(log_, decisions_of(4));
  const std::shared_ptr<NotedSamples> samples_ = std::make_shared<NotedSamples>();
};

TEST_F(ReplayStepsTest, the_first_step_has_none_and_each_later_one_has_some_of_the_steps_before) {
  const auto steps = this->steps(0);
  EXPECT_EQ(steps->batch_size(), 6) << "four new samples and two replayed ones";
  std::optional<StepPlan> plan = steps->step({});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(replayed(*plan).empty()) << "the buffer is empty";
  EXPECT_EQ(plan->rows.size(), 4u);
  for (int64_t step = 1; step < 6; ++step) {
    plan = steps->step(plan->after);
    ASSERT_TRUE(plan);
    ASSERT_EQ(replayed(*plan).size(), 2u);
    EXPECT_EQ(plan->rows.size(), 6u);
    EXPECT_TRUE(plan->rows[4].replayed && !plan->rows[3].replayed) << "behind the new ones";
    for (const int64_t id : replayed(*plan)) {
      EXPECT_LT(id, 8 * step) << "of steps before";
      EXPECT_GE(id, 8 * step - 8) << "of the latest eight samples";
    }
  }
}

TEST_F(ReplayStepsTest, no_two_ranks_replay_the_same_sample_in_a_step) {
  const auto first = steps(0), second = steps(1);
  Cursor at;
  for (int step = 0; step < 6; ++step) {
    const auto one = first->step(at), other = second->step(at);
    ASSERT_TRUE(one && other);
    std::set<int64_t> ids;
    for (const StepPlan* plan : {&*one, &*other})
      for (const int64_t id : replayed(*plan)) EXPECT_TRUE(ids.insert(id).second) << "step " << step;
    at = one->after;
  }
}

TEST_F(ReplayStepsTest, a_step_that_is_asked_for_again_is_the_same_and_is_offered_once) {
  const auto steps = this->steps(0);
  const StepPlan first = *steps->step({});
  const StepPlan second = *steps->step(first.after);
  const StepPlan again = *steps->step(first.after);
  EXPECT_EQ(replayed(again), replayed(second));
  EXPECT_EQ(again.rows.size(), second.rows.size());
  steps->delivered(second.after);
  EXPECT_EQ(steps->buffer().size(), 8) << "sixteen were offered, each once";
}

TEST_F(ReplayStepsTest, rows_of_replayed_samples_have_no_sample_in_the_order_of_the_stream) {
  const auto steps = this->steps(0);
  const StepPlan first = *steps->step({});
  const StepPlan plan = *steps->step(first.after);
  ASSERT_EQ(plan.rows.size(), 6u);
  for (int64_t row = 0; row < 6; ++row) EXPECT_EQ(plan.is_replayed(row), row >= 4);
  for (size_t row = 0; row < 4; ++row) EXPECT_GE(plan.rows[row].id, 8);
}

TEST_F(ReplayStepsTest, a_state_has_the_buffer_of_the_delivered_steps_and_a_run_goes_on_with_it) {
  const auto steps = this->steps(0);
  const StepPlan first = *steps->step({}), second = *steps->step(first.after), third = *steps->step(second.after);
  steps->delivered(second.at);
  const Rehearsal buffer = steps->buffer();
  EXPECT_EQ(buffer.size(), 8) << "of one step over two ranks, though three are planned";
  const auto resumed = this->steps(0);
  resumed->resume_with(buffer);
  EXPECT_EQ(replayed(*resumed->step(second.at)), replayed(second));
  EXPECT_EQ(replayed(*resumed->step(third.at)), replayed(third));
}

TEST_F(ReplayStepsTest, a_run_that_leaves_its_place_gives_no_step_until_it_goes_on) {
  const auto steps = this->steps(0);
  const StepPlan first = *steps->step({}), second = *steps->step(first.after);
  steps->delivered(second.at);
  steps->pause();
  EXPECT_FALSE(steps->request_step(second.at));
  EXPECT_FALSE(steps->step(second.at));
  EXPECT_FALSE(steps->decide_now(second.at));
  steps->resume();
  EXPECT_EQ(replayed(*steps->step(second.at)), replayed(second)) << "with the buffer of the delivered steps";
}

/// Replayed samples that other ranks have.
class BorrowedSamples final : public StepSamples {
 public:
  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const override {
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = step.at.position; number < step.after.position; ++number) samples.push_back({number, 0});
    return samples;
  }
  void start_fetch(std::span<const int64_t> ids) override { brought.insert(ids.begin(), ids.end()); }
  void on_delivered(std::span<const int64_t> ids) override { returned += static_cast<int64_t>(ids.size()); }
  Result<bool> all_available(std::span<const int64_t> ids) const override {
    FOREBAY_RETURN_IF_ERROR(failure);
    return ids.empty() || there;
  }
  std::string awaited() const override { return there ? "" : "a record of rank 1"; }

  bool there = false;
  Status failure;
  std::set<int64_t> brought;
  int64_t returned = 0;
};

TEST_F(ReplayStepsTest, a_step_waits_for_its_remote_samples_which_are_requested_when_it_is_planned) {
  const auto samples = std::make_shared<BorrowedSamples>();
  ReplaySteps steps(std::make_shared<StreamItinerary>(stream_, StreamItineraryOptions{.batch_size = 4}), samples,
                    {.seed = 3, .policy = RehearsalPolicy::kRecent, .capacity = 8, .draws = 2}, 2, 0);
  const StepPlan first = *steps.step({});
  EXPECT_FALSE(steps.step(first.after));
  EXPECT_EQ(samples->brought.size(), 2u);
  EXPECT_FALSE(steps.request_step(first.after));
  EXPECT_EQ(steps.awaited(), "a record of rank 1");
  EXPECT_TRUE(steps.step({})) << "a run that has dropped its plans requests the first step again";
  EXPECT_FALSE(steps.request_step(first.after)) << "which brings no sample of the second one";
  samples->there = true;
  EXPECT_TRUE(steps.request_step(first.after));
  const auto second = steps.step(first.after);
  ASSERT_TRUE(second);
  steps.delivered(second->after);
  EXPECT_EQ(samples->returned, 2) << "once the step is delivered";
  samples->failure = Status(Code::kNotFound, "the log has trimmed it");
  EXPECT_FALSE(steps.step(second->after));
  EXPECT_EQ(steps.failure().code(), Code::kNotFound) << "it can never be brought";
}

TEST(ReplaySteps, samples_take_the_place_of_records_that_did_not_come_in_time) {
  StreamOptions options = decisions_of(4);
  options.on_underrun = OnUnderrun::kRehearse;
  const auto log = log_with({4});
  const auto stream = std::make_shared<AwaitedStream>(log, options);
  stream->seek(stream->beginning());
  ASSERT_TRUE(wait_known(*stream, 4));
  const auto samples = std::make_shared<NotedSamples>();
  ReplaySteps steps(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{.batch_size = 4}), samples,
                    {.seed = 1, .policy = RehearsalPolicy::kRecent, .capacity = 4, .draws = 0}, 0, 0);
  EXPECT_FALSE(steps.decide_now({})) << "there is nothing to take yet";
  const StepPlan first = *steps.step({});
  log->append(0, 1);
  ASSERT_TRUE(log->wait_idle(1));
  ASSERT_TRUE(steps.decide_now(first.after));
  const StepPlan second = *steps.step(first.after);
  ASSERT_EQ(second.missing_rows.size(), 3u);
  std::set<int64_t> ids;
  for (const MissingRow& one : second.missing_rows) {
    EXPECT_LT(second.rows[one.row].id, 4);
    EXPECT_TRUE(ids.insert(second.rows[one.row].id).second) << "each of another one";
    EXPECT_TRUE(second.is_replayed(static_cast<int64_t>(one.row)));
  }
}

}  // namespace
}  // namespace forebay
