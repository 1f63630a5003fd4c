#include "loader/run/stream_part_steps.h"

#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plan/node.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

constexpr int64_t kOldSamples = 300;
constexpr size_t kStream = 1;  // leaf of the stream

std::shared_ptr<const PlanNode> plan_with(std::vector<double> weights) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  leaves.push_back(leaf_node(shuffled_order(kOldSamples, 3)));
  leaves.push_back(leaf_node(sequential_order(int64_t{1} << 53)));
  return mix_node(std::move(leaves), {.seed = 4, .stages = {{0, std::move(weights)}}}).value();
}

class NoSelection final : public Selection {
 public:
  int64_t size() const override { return 1; }
  int64_t id_at(int64_t index) const override { return index; }
};

/// The steps of one rank over a log in memory.
struct RankSteps {
  RankSteps(std::shared_ptr<MemoryLog> log, std::shared_ptr<const PlanNode> plan, ScheduleOptions batches, int64_t rank,
            std::optional<int64_t> epochs = std::nullopt)
      : stream(std::make_shared<AwaitedStream>(std::move(log), decisions_of(5))),
        numbers(std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{})) {
    batches.epoch_size = plan->size();
    auto indexed = std::make_shared<IndexedItinerary>(
        plan, std::vector<BranchSamples>(2, BranchSamples{std::make_shared<NoSelection>()}),
        std::make_shared<EqualBatches>(batches), rank, epochs);
    steps = std::make_unique<StreamPartSteps>(std::make_shared<CurrentSteps>(std::move(indexed)),
                                              StreamPartSteps::Part{kStream, stream, numbers, nullptr}, batches, rank);
    go_to({}, stream->beginning());
  }
  void go_to(const Cursor& at, StreamPlace place) {
    const int64_t number = place.number;
    stream->seek(std::move(place));
    numbers->set_anchor(steps->stream_place(at), number);
    steps->begin_again();
  }
  StreamPlace place_at(const Cursor& at) const { return stream->place(numbers->number_at(steps->stream_place(at))); }
  std::optional<StepPlan> step(const Cursor& at) {
    const bool known = stream->wait_for([&] { return steps->finished(at) || steps->request_step(at); });
    return known ? steps->step(at) : std::nullopt;
  }

  std::shared_ptr<AwaitedStream> stream;
  std::shared_ptr<StreamItinerary> numbers;
  std::unique_ptr<StreamPartSteps> steps;
};

using Position = std::pair<int64_t, int64_t>;  // epoch, position
using DrawnRows = std::map<Position, Draw>;

void add_rows(const StepPlan& plan, DrawnRows& rows) {
  for (const Row& row : plan.rows) {
    if (row.padding) continue;
    const bool added = rows.emplace(Position(plan.at.epoch, row.position),
                                    Draw{row.branch, row.occurrence, row.pass, row.place, row.id})
                           .second;
    EXPECT_TRUE(added) << row.position;
  }
}

// The rows of the plan itself, up to the first position whose record the stream does not have.
DrawnRows expected_rows(const PlanNode& plan, int64_t records, int64_t epochs) {
  DrawnRows rows;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t position = 0; position < plan.size(); ++position) {
      std::vector<Draw> draw(1);
      plan.draws(epoch, position, draw);
      if (draw[0].leaf == kStream && draw[0].index >= records) return rows;
      rows.emplace(Position(epoch, position), draw[0]);
    }
  }
  return rows;
}

TEST(StreamPartSteps, records_come_at_the_positions_of_the_plan_until_there_are_no_more) {
  const auto plan = plan_with({1, 2});
  for (const int64_t records : {0, 1, 7, 100, 601, 1500}) {
    for (const int64_t world : {1, 2, 3}) {
      auto log = log_with({records});
      log->end();
      DrawnRows rows;
      std::vector<int64_t> steps_of;
      for (int64_t rank = 0; rank < world; ++rank) {
        RankSteps ranked(log, plan, {.batch_size = 7, .world_size = world}, rank, 2);
        Cursor at;
        int64_t steps = 0;
        for (; const auto step = ranked.step(at); ++steps) {
          EXPECT_EQ(step->at, at);
          add_rows(*step, rows);
          at = step->after;
        }
        EXPECT_TRUE(ranked.steps->finished(at));
        steps_of.push_back(steps);
      }
      EXPECT_EQ(rows, expected_rows(*plan, records, 2)) << records << " records, " << world << " ranks";
      EXPECT_EQ(std::vector<int64_t>(steps_of.size(), steps_of[0]), steps_of);
    }
  }
}

TEST(StreamPartSteps, a_run_goes_on_at_any_place_with_other_batches) {
  const auto plan = plan_with({1, 2});
  auto log = log_with({500, 500, 500});
  log->end();
  std::mt19937 random(1);
  const DrawnRows expected = expected_rows(*plan, 1500, 2);
  DrawnRows rows;
  Cursor at;
  std::optional<StreamPlace> place;
  for (bool more = true; more;) {
    RankSteps part(log, plan, {.batch_size = std::uniform_int_distribution<int64_t>(1, 40)(random)}, 0, 2);
    if (place) part.go_to(at, *saved_and_loaded(*place, log->partitions()));
    for (int steps = 0; steps < 5 && more; ++steps) {
      const auto step = part.step(at);
      more = step.has_value();
      if (!more) break;
      add_rows(*step, rows);
      at = step->after;
    }
    place = part.place_at(at);
  }
  EXPECT_EQ(rows, expected);
}

TEST(StreamPartSteps, a_step_is_known_once_its_records_have_come) {
  const auto plan = plan_with({1, 2});
  auto log = log_with({5});
  RankSteps part(log, plan, {.batch_size = 60}, 0);
  EXPECT_FALSE(part.steps->request_step({}));
  ASSERT_TRUE(log->wait_idle(1));
  EXPECT_FALSE(part.steps->step({})) << "not all of its records are there";
  EXPECT_FALSE(part.steps->finished({}));
  log->append(0, 95);
  EXPECT_TRUE(part.step({}));
  EXPECT_EQ(part.steps->batches({}), (plan->size() + 59) / 60);
}

TEST(StreamPartSteps, a_stream_is_not_read_before_a_step_needs_it) {
  auto log = log_with({100});
  std::atomic<int> readers = 0;
  log->before_reader = [&] { ++readers; };
  RankSteps part(log, plan_with({1, 0}), {.batch_size = 60}, 0);
  EXPECT_TRUE(part.step({}));
  part.stream->stop();
  EXPECT_EQ(readers, 0);
}

TEST(StreamPartSteps, the_rest_before_the_end_is_dropped_or_filled_up) {
  const auto plan = plan_with({1, 2});
  const auto whole = static_cast<int64_t>(expected_rows(*plan, 100, 1).size());
  for (const LastPolicy last : {LastPolicy::kDrop, LastPolicy::kPad}) {
    auto log = log_with({100});
    log->end();
    RankSteps part(log, plan, {.batch_size = 32, .last = last}, 0);
    Cursor at;
    int64_t rows = 0, steps = 0;
    for (; const auto step = part.step(at); ++steps) {
      rows += static_cast<int64_t>(step->rows.size());
      at = step->after;
    }
    EXPECT_EQ(rows, steps * 32);
    EXPECT_EQ(steps, last == LastPolicy::kDrop ? whole / 32 : (whole + 31) / 32);
    EXPECT_TRUE(part.steps->finished(at));
  }
}

}  // namespace
}  // namespace forebay
