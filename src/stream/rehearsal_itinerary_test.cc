#include "stream/rehearsal_itinerary.h"

#include <set>

#include <gtest/gtest.h>

#include "stream/stream_itinerary.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

/// The records of a stream of one rank. It notes which of them are in the replay buffer.
class NotedSamples final : public StepSamples {
 public:
  Result<std::vector<Rehearsal::Sample>> of(const StepPlan& step) const override {
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = step.at.position; number < step.after.position; ++number) samples.push_back({number, 0});
    return samples;
  }
  Status keep(const StepPlan&, std::span<const int64_t> entered) override {
    kept.insert(entered.begin(), entered.end());
    return {};
  }
  void let_go(std::span<const int64_t> left) override {
    for (const int64_t id : left) kept.erase(id);
  }
  std::set<int64_t> kept;
};

TEST(RehearsalItinerary, what_another_run_kept_is_let_go_of) {
  const auto stream = std::make_shared<AwaitedStream>(log_with({100}), decisions_of(4));
  stream->seek(stream->beginning());
  ASSERT_TRUE(wait_known(*stream, 8));
  const auto samples = std::make_shared<NotedSamples>();
  const RehearsalOptions options{.seed = 1, .policy = RehearsalPolicy::kRecent, .capacity = 4, .draws = 1};
  RehearsalItinerary itinerary(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{.batch_size = 4}),
                               samples, options, 1, 0);
  const auto first = itinerary.step({});
  ASSERT_TRUE(first);
  EXPECT_EQ(samples->kept, (std::set<int64_t>{0, 1, 2, 3}));
  ASSERT_TRUE(itinerary.step(first->after));
  EXPECT_EQ(samples->kept, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << "what left stays until its step is behind";
  itinerary.delivered(first->after);
  Rehearsal goes_on(options);
  goes_on.restore({{0, {.seen = 2, .kept = {{.id = 2}, {.id = 5}}}}});
  itinerary.begin_with(goes_on);
  EXPECT_EQ(samples->kept, (std::set<int64_t>{2, 5}));
  itinerary.begin_with(Rehearsal(options));
  EXPECT_EQ(samples->kept, std::set<int64_t>());
}

/// Samples whose records cannot be read.
class UnreadableSamples final : public StepSamples {
 public:
  Result<std::vector<Rehearsal::Sample>> of(const StepPlan&) const override {
    return Status(Code::kCorrupt, "unreadable");
  }
};

TEST(RehearsalItinerary, behind_a_failure_nothing_is_known_that_somebody_could_plan_for_ever) {
  const auto stream = std::make_shared<AwaitedStream>(log_with({100}), decisions_of(4));
  stream->seek(stream->beginning());
  ASSERT_TRUE(wait_known(*stream, 4));
  RehearsalItinerary itinerary(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{.batch_size = 4}),
                               std::make_shared<UnreadableSamples>(), {.seed = 1, .capacity = 4, .draws = 1}, 1, 0);
  EXPECT_TRUE(itinerary.known({}));
  EXPECT_FALSE(itinerary.step({}));
  EXPECT_EQ(itinerary.failure().code(), Code::kCorrupt);
  EXPECT_FALSE(itinerary.known({}));
}

}  // namespace
}  // namespace forebay
