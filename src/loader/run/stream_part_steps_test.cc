#include "loader/run/stream_part_steps.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/node.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

constexpr int64_t kOldSamples = 300;

// The first leaf is a data set, and the others are streams.
std::shared_ptr<const PlanNode> plan_with(std::vector<double> weights) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  leaves.push_back(leaf_node(shuffled_order(kOldSamples, 3)));
  while (leaves.size() < weights.size()) leaves.push_back(leaf_node(sequential_order(int64_t{1} << 53)));
  return mix_node(std::move(leaves), {.seed = 4, .stages = {{0, std::move(weights)}}}).value();
}

class NoSelection final : public Selection {
 public:
  int64_t size() const override { return 1; }
  int64_t id_at(int64_t index) const override { return index; }
};

using Logs = std::vector<std::shared_ptr<MemoryLog>>;

// Logs with so many records each, which end.
Logs logs_with(const std::vector<int64_t>& records) {
  Logs logs;
  for (const int64_t count : records) logs.push_back(log_with({count}));
  for (const auto& log : logs) log->end();
  return logs;
}

// The records that other ranks read for this one: those that were asked for are here.
class AskedRecords final : public StepRecords {
 public:
  void start_fetch(std::span<const int64_t> numbers) override { asked.insert(numbers.begin(), numbers.end()); }
  bool all_available(std::span<const int64_t> numbers) const override {
    if (const auto call = std::exchange(once, nullptr)) call();
    return std::ranges::all_of(numbers, [&](int64_t number) { return asked.contains(number); });
  }
  std::string awaited() const override { return ""; }

  std::set<int64_t> asked;
  mutable std::function<void()> once;  // called while a step is requested
};

/// The steps of one rank over logs in memory, one for each stream of the plan.
struct RankSteps {
  RankSteps(const Logs& logs, std::shared_ptr<const PlanNode> plan, ScheduleOptions batches, int64_t rank,
            std::optional<int64_t> epochs = std::nullopt,
            const std::vector<std::shared_ptr<AskedRecords>>& remote = {}) {
    for (const auto& log : logs) {
      const auto stream = std::make_shared<AwaitedStream>(log, decisions_of(5));
      streams.push_back(stream);
      stream->on_arrival([first = streams.front().get()] { first->arrive(); });
      parts.push_back({parts.size() + 1, stream, std::make_shared<StreamItinerary>(stream, StreamItineraryOptions{}),
                       remote.empty() ? nullptr : remote[parts.size()]});
    }
    batches.epoch_size = plan->size();
    itinerary_of = [=, branches = 1 + logs.size()](std::shared_ptr<const PlanNode> of) {
      return std::make_shared<IndexedItinerary>(
          std::move(of), std::vector<BranchSamples>(branches, BranchSamples{std::make_shared<NoSelection>()}),
          std::make_shared<EqualBatches>(batches), rank, epochs);
    };
    current = std::make_shared<CurrentSteps>(itinerary_of(std::move(plan)));
    steps = std::make_unique<StreamPartSteps>(current, parts, batches, rank);
    std::vector<StreamPlace> beginnings;
    for (const auto& stream : streams) beginnings.push_back(stream->beginning());
    go_to({}, beginnings);
  }
  void go_to(const Cursor& at, const std::vector<StreamPlace>& places) {
    for (size_t i = 0; i < parts.size(); ++i) {
      streams[i]->seek(places[i]);
      parts[i].numbers->set_anchor(steps->stream_place(parts[i].leaf, at), places[i].number);
    }
    steps->begin_again();
  }
  // What states say of the streams, as it is read again.
  std::vector<StreamPlace> places_at(const Cursor& at) const {
    std::vector<StreamPlace> places;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t number = parts[i].numbers->number_at(steps->stream_place(parts[i].leaf, at));
      places.push_back(*saved_and_loaded(streams[i]->place(number), streams[i]->log().partitions()));
    }
    return places;
  }
  std::optional<StepPlan> step(const Cursor& at) {
    // The first stream is told of the arrivals of all.
    const bool known = streams.front()->wait_for([&] { return steps->finished(at) || steps->request_step(at); });
    return known ? steps->step(at) : std::nullopt;
  }

  ~RankSteps() {
    for (const auto& stream : streams) stream->stop();
  }

  std::vector<std::shared_ptr<AwaitedStream>> streams;
  std::vector<StreamPartSteps::Part> parts;
  std::function<std::shared_ptr<IndexedItinerary>(std::shared_ptr<const PlanNode>)> itinerary_of;
  std::shared_ptr<CurrentSteps> current;
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

// The rows of the plan itself, up to the first position whose record its stream does not have.
DrawnRows expected_rows(const PlanNode& plan, const std::vector<int64_t>& records, int64_t epochs) {
  DrawnRows rows;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t position = 0; position < plan.size(); ++position) {
      std::vector<Draw> draw(1);
      plan.draws(epoch, position, draw);
      if (draw[0].leaf > 0 && draw[0].index >= records[draw[0].leaf - 1]) return rows;
      rows.emplace(Position(epoch, position), draw[0]);
    }
  }
  return rows;
}

TEST(StreamPartSteps, records_come_at_the_positions_of_the_plan_until_there_are_no_more) {
  const std::vector<std::vector<int64_t>> all = {{0},      {1},        {7},         {100},           {601},
                                                 {1500},   {0, 500},   {500, 0},    {33, 1500},      {1500, 33},
                                                 {90, 61}, {600, 420}, {1500, 900}, {400, 300, 200}, {200, 300, 400}};
  for (const std::vector<int64_t>& records : all) {
    const std::vector<double> weights = {1, 2, 1.3, 0.7};
    const auto plan = plan_with({weights.begin(), weights.begin() + 1 + static_cast<std::ptrdiff_t>(records.size())});
    for (const int64_t world : {1, 2, 3}) {
      const Logs logs = logs_with(records);
      DrawnRows rows;
      std::vector<int64_t> steps_of;
      for (int64_t rank = 0; rank < world; ++rank) {
        RankSteps ranked(logs, plan, {.batch_size = 7, .world_size = world}, rank, 2);
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
      EXPECT_EQ(rows, expected_rows(*plan, records, 2))
          << testing::PrintToString(records) << " records, " << world << " ranks";
      EXPECT_EQ(std::vector<int64_t>(steps_of.size(), steps_of[0]), steps_of);
    }
  }
}

TEST(StreamPartSteps, a_run_goes_on_at_any_place_with_other_batches) {
  const auto plan = plan_with({1, 2, 1});
  const Logs logs = {log_with({500, 500, 500}), log_with({700, 50})};
  for (const auto& log : logs) log->end();
  std::mt19937 random(1);
  const DrawnRows expected = expected_rows(*plan, {1500, 750}, 2);
  DrawnRows rows;
  Cursor at;
  std::optional<std::vector<StreamPlace>> places;
  for (bool more = true; more;) {
    RankSteps part(logs, plan, {.batch_size = std::uniform_int_distribution<int64_t>(1, 40)(random)}, 0, 2);
    if (places) part.go_to(at, *places);
    for (int steps = 0; steps < 5 && more; ++steps) {
      const auto step = part.step(at);
      more = step.has_value();
      if (!more) break;
      add_rows(*step, rows);
      at = step->after;
    }
    places = part.places_at(at);
  }
  EXPECT_EQ(rows, expected);
}

TEST(StreamPartSteps, a_step_is_known_once_its_records_have_come) {
  const auto plan = plan_with({1, 2});
  auto log = log_with({5});
  RankSteps part({log}, plan, {.batch_size = 60}, 0);
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
  RankSteps part({log}, plan_with({1, 0}), {.batch_size = 60}, 0);
  EXPECT_TRUE(part.step({}));
  part.streams.front()->stop();
  EXPECT_EQ(readers, 0);
}

TEST(StreamPartSteps, a_request_that_a_change_of_weights_overtakes_fetches_nothing_more) {
  const std::vector<std::shared_ptr<AskedRecords>> remote = {std::make_shared<AskedRecords>(),
                                                             std::make_shared<AskedRecords>()};
  RankSteps part({log_with({300}), log_with({300})}, plan_with({1, 1, 1}), {.batch_size = 12, .world_size = 2}, 1, 1,
                 remote);
  for (const auto& stream : part.streams) ASSERT_TRUE(becomes([&] { return stream->request(150); }));
  remote[0]->once = [&] {
    part.current->replace(part.itinerary_of(plan_with({1, 3, 2})));
    part.steps->begin_again();
  };
  part.steps->request_step({});
  EXPECT_FALSE(remote[0]->asked.empty());
  EXPECT_TRUE(remote[1]->asked.empty()) << "those are the rows of the weights before";
  remote[0]->asked.clear();
  part.current->resume();
  Cursor at;
  for (int step = 0; step < 4; ++step) {
    const auto next = part.step(at);
    ASSERT_TRUE(next) << "the records of step " << step << " were never fetched";
    at = next->after;
  }
}

TEST(StreamPartSteps, only_streams_whose_records_are_late_are_named) {
  // The second stream has no share, and the third one has all that the step needs.
  RankSteps part({log_with({5}), log_with({0}), log_with({100})}, plan_with({1, 1, 0, 1}), {.batch_size = 60}, 0);
  ASSERT_TRUE(becomes([&] { return part.streams[2]->request(60); }));
  EXPECT_FALSE(part.steps->request_step({}));
  part.steps->set_awaited({});
  EXPECT_EQ(part.steps->awaited(), part.streams[0]->awaited());
}

TEST(StreamPartSteps, the_rest_before_the_end_is_dropped_or_filled_up) {
  const auto plan = plan_with({1, 2});
  const auto whole = static_cast<int64_t>(expected_rows(*plan, {100}, 1).size());
  for (const LastPolicy last : {LastPolicy::kDrop, LastPolicy::kPad}) {
    RankSteps part(logs_with({100}), plan, {.batch_size = 32, .last = last}, 0);
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
