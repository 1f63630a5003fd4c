// Tests a run that several clients share, on one thread and with a manual clock: who has a seat,
// who loses it, and when a run begins and ends.
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "serve/server/serve_test_support.h"
#include "serve/server/together.h"
#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::ManualClock;
using serve_test::open_loader;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Seat = TogetherRun::Seat;

constexpr milliseconds kPatience{1000};
constexpr seconds kLong{3600};  // of the manual clock
constexpr uint64_t kWindow = 16;

class Group {
 public:
  explicit Group(int wanted, LoaderOptions options = {})
      : loader_(std::move(*Loader::open(data_.pipeline(), options))), begin_(loader_->state()),
        run_(std::move(loader_), wanted, kPatience, clock_) {}

  TogetherRun& run() { return run_; }
  ManualClock& clock() { return clock_; }
  const std::string& begin() const { return begin_; }
  /// Takes the next step of a seat, which must be there or be computed in time.
  TogetherRun::StepPtr take(Seat& seat) {
    Result<TogetherRun::StepPtr> step = run_.next_step(seat, kLong);
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    EXPECT_TRUE(step.ok() && *step) << "no step";
    return step.ok() ? *step : nullptr;
  }
  void take(Seat& seat, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) take(seat);
  }

 private:
  Data data_;
  ManualClock clock_;
  std::unique_ptr<Loader> loader_;
  std::string begin_;
  TogetherRun run_;
};

TEST(TogetherRun, computes_each_step_once_for_all_seats) {
  Group group(2);
  Seat a, b;
  ASSERT_TRUE(group.run().take_seat(a, group.begin()) && group.run().take_seat(b, group.begin()));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(group.take(a), group.take(b)) << i;
  EXPECT_EQ(group.run().counts().computed, 10U);
  EXPECT_EQ(group.run().counts().delivered, 20U);
}

TEST(TogetherRun, steps_follow_each_other_without_a_gap) {
  Group group(1);
  Seat seat;
  ASSERT_TRUE(group.run().take_seat(seat, group.begin()));
  std::string state = group.begin();
  for (int i = 0; i < 20; ++i) {
    const TogetherRun::StepPtr step = group.take(seat);
    EXPECT_EQ(step->before, state);
    state = step->after;
  }
}

TEST(TogetherRun, does_not_begin_before_all_whom_it_waits_for_have_a_seat) {
  Group group(3);
  Seat a, b, c;
  ASSERT_TRUE(group.run().take_seat(a, group.begin()) && group.run().take_seat(b, group.begin()));
  EXPECT_EQ(*group.run().next_step(a, seconds(59)), nullptr);
  EXPECT_EQ(group.run().counts().computed, 0U);
  ASSERT_TRUE(group.run().take_seat(c, group.begin()));
  group.take(a);
  EXPECT_EQ(group.run().counts().computed, 1U);
}

TEST(TogetherRun, begins_without_the_others_after_a_minute) {
  Group group(3);
  Seat seat;
  ASSERT_TRUE(group.run().take_seat(seat, group.begin()));
  group.take(seat);
  EXPECT_GE(group.clock().passed(), seconds(60));
  EXPECT_LT(group.clock().passed(), seconds(61));
  group.take(seat);
  EXPECT_LT(group.clock().passed(), seconds(61)) << "it waits once";
}

TEST(TogetherRun, gives_a_client_that_comes_late_the_steps_that_are_retained) {
  Group group(1);
  Seat early;
  ASSERT_TRUE(group.run().take_seat(early, group.begin()));
  const TogetherRun::StepPtr first = group.take(early), second = group.take(early);
  Seat late, later;
  ASSERT_TRUE(group.run().take_seat(late, group.begin()));
  EXPECT_EQ(group.take(late), first);
  ASSERT_TRUE(group.run().take_seat(later, second->before));
  EXPECT_EQ(group.take(later), second);
  EXPECT_EQ(group.run().counts().computed, 2U);
}

TEST(TogetherRun, has_no_seat_at_a_state_that_is_neither_retained_nor_next) {
  Group group(1);
  Seat seat, other;
  ASSERT_TRUE(group.run().take_seat(seat, group.begin()));
  EXPECT_FALSE(group.run().take_seat(other, "another state"));
  group.take(seat, kWindow);
  EXPECT_TRUE(group.run().take_seat(other, group.begin())) << "the window holds all steps";
  group.run().leave(other);
  group.take(seat);
  EXPECT_FALSE(group.run().take_seat(other, group.begin())) << "the first step has left the window";
}

TEST(TogetherRun, waits_for_a_client_that_is_a_window_late_only_as_long_as_its_patience) {
  Group group(2);
  Seat fast, slow;
  ASSERT_TRUE(group.run().take_seat(fast, group.begin()) && group.run().take_seat(slow, group.begin()));
  group.take(fast, kWindow);
  EXPECT_EQ(group.clock().passed(), milliseconds(0)) << "the window is not full before";
  EXPECT_EQ(*group.run().next_step(fast, kPatience - milliseconds(1)), nullptr);
  EXPECT_TRUE(group.run().seated(slow));
  group.take(fast);
  EXPECT_FALSE(group.run().seated(slow));
  EXPECT_TRUE(group.run().seated(fast));
  EXPECT_EQ(group.run().seats(), 1U);
  EXPECT_GE(group.clock().passed(), kPatience);
  EXPECT_LT(group.clock().passed(), kPatience + milliseconds(100));
  EXPECT_EQ(*group.run().next_step(slow, kLong), nullptr) << "its seat is lost";
}

TEST(TogetherRun, goes_on_at_once_when_the_late_client_takes_a_step) {
  Group group(2);
  Seat fast, slow;
  ASSERT_TRUE(group.run().take_seat(fast, group.begin()) && group.run().take_seat(slow, group.begin()));
  group.take(fast, kWindow);
  EXPECT_EQ(*group.run().next_step(fast, milliseconds(500)), nullptr);
  group.take(slow);
  const milliseconds before = group.clock().passed();
  group.take(fast);
  EXPECT_EQ(group.clock().passed(), before);
  EXPECT_TRUE(group.run().seated(slow));
}

// Each of its steps takes less than the patience, but together they keep the others waiting.
TEST(TogetherRun, loses_patience_with_a_client_that_is_slower_step_by_step) {
  Group group(2);
  Seat fast, slow;
  ASSERT_TRUE(group.run().take_seat(fast, group.begin()) && group.run().take_seat(slow, group.begin()));
  group.take(fast, kWindow);
  int steps = 0;
  while (group.run().seated(slow) && steps < 100) {
    ASSERT_TRUE(group.run().next_step(fast, kPatience / 4).ok());
    if (!group.run().seated(slow)) break;
    group.take(slow);
    group.take(fast);
    ++steps;
  }
  EXPECT_GE(steps, 3);
  EXPECT_LE(steps, 5);
}

TEST(TogetherRun, is_patient_with_a_client_that_is_late_now_and_then) {
  Group group(2);
  Seat fast, slow;
  ASSERT_TRUE(group.run().take_seat(fast, group.begin()) && group.run().take_seat(slow, group.begin()));
  group.take(fast, kWindow);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(*group.run().next_step(fast, kPatience / 4), nullptr);
    group.take(slow);
    group.take(fast);
    group.clock().advance(kPatience * 5);  // it is as fast as the others for a while
    ASSERT_TRUE(group.run().seated(slow)) << i;
  }
}

TEST(TogetherRun, does_not_wait_for_a_client_that_has_left) {
  Group group(2);
  Seat fast, slow;
  ASSERT_TRUE(group.run().take_seat(fast, group.begin()) && group.run().take_seat(slow, group.begin()));
  group.take(fast, kWindow);
  group.run().leave(slow);
  group.take(fast, 2 * kWindow);
  EXPECT_EQ(group.clock().passed(), milliseconds(0));
  EXPECT_EQ(group.run().seats(), 1U);
}

TEST(TogetherRun, ends_for_everybody_after_the_last_epoch) {
  Group group(1, {.epochs = 1});
  Seat a, b;
  ASSERT_TRUE(group.run().take_seat(a, group.begin()) && group.run().take_seat(b, group.begin()));
  for (int i = 0; i < 15; ++i) EXPECT_EQ(group.take(a), group.take(b));
  EXPECT_FALSE(group.run().over());
  EXPECT_EQ(*group.run().next_step(a, kLong), nullptr);
  EXPECT_TRUE(group.run().over());
  EXPECT_EQ(*group.run().next_step(b, kLong), nullptr);
  EXPECT_EQ(group.run().seats(), 0U);
  Seat late;
  EXPECT_FALSE(group.run().take_seat(late, group.begin())) << "nobody joins a run that is over";
}

TEST(TogetherRun, goes_on_into_the_next_epoch) {
  Group group(1);
  Seat seat;
  ASSERT_TRUE(group.run().take_seat(seat, group.begin()));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(group.take(seat)->batch->epoch, i / 15) << i;
}

TEST(TogetherRun, returns_an_error_that_is_no_step_to_the_caller_only) {
  Group group(1);
  Seat seat;
  ASSERT_TRUE(group.run().take_seat(seat, group.begin()));
  group.take(seat);
  group.run().close();
  EXPECT_FALSE(group.run().next_step(seat, kLong).ok());
  EXPECT_EQ(group.run().counts().computed, 1U);
  EXPECT_TRUE(group.run().seated(seat));
}

TEST(TogetherRun, one_thread_computes_while_another_takes_what_is_there) {
  const Data data;
  auto loader = std::move(*Loader::open(data.pipeline()));
  const std::string begin = loader->state();
  TogetherRun run(std::move(loader), 1, std::chrono::minutes(5));
  Seat a, b;
  ASSERT_TRUE(run.take_seat(a, begin) && run.take_seat(b, begin));
  const auto all_of = [&](Seat& seat) {
    std::vector<std::string> states;
    for (int i = 0; i < 60; ++i) states.push_back((*run.next_step(seat, kLong))->after);
    return states;
  };
  auto other = std::async(std::launch::async, [&] { return all_of(a); });
  const std::vector<std::string> of_b = all_of(b);
  EXPECT_EQ(other.get(), of_b);
  EXPECT_EQ(run.counts().computed, 60U);
}

// ---- all runs of a server

/// Counts the loaders that were opened.
struct Opening {
  TogetherRuns::Open open() {
    return [this](const std::stop_token&) {
      ++opened;
      return open_loader(data.pipeline());
    };
  }
  std::string begin() { return (*Loader::open(data.pipeline()))->state(); }
  Data data;
  std::atomic<int> opened = 0;
};

TEST(TogetherRuns, clients_of_one_key_and_state_join_one_run) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  Seat a, b, c;
  const auto first = *runs.join("key", begin, 1, a, opening.open(), {});
  EXPECT_EQ(*runs.join("key", begin, 1, b, opening.open(), {}), first);
  EXPECT_EQ(opening.opened, 1);
  EXPECT_NE(*runs.join("another key", begin, 1, c, opening.open(), {}), first);
  EXPECT_EQ(opening.opened, 2);
  EXPECT_EQ(first->seats(), 2U);
}

TEST(TogetherRuns, a_client_at_another_state_gets_a_run_of_its_own) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const auto loader = std::move(*Loader::open(opening.data.pipeline()));
  const std::string begin = loader->state();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loader->next().ok());
  Seat a, b;
  const auto first = *runs.join("key", begin, 1, a, opening.open(), {});
  const auto second = *runs.join("key", loader->state(), 2, b, opening.open(), {});
  EXPECT_NE(first, second);
  EXPECT_EQ((*second->next_step(b, kLong))->before, loader->state())
      << "it does not wait for others as the first one did";
}

TEST(TogetherRuns, a_run_is_closed_and_forgotten_when_its_last_client_has_left) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  Seat a, b;
  auto run = *runs.join("key", begin, 1, a, opening.open(), {});
  ASSERT_EQ(*runs.join("key", begin, 1, b, opening.open(), {}), run);
  ASSERT_TRUE(*run->next_step(a, kLong));
  run->leave(a);
  runs.release("key", run);
  ASSERT_TRUE(*run->next_step(b, kLong)) << "another client still has a seat";
  run->leave(b);
  runs.release("key", run);
  EXPECT_FALSE(run->next_step(b, kLong).value());
  Seat next;
  EXPECT_EQ(runs.join_other("key", nullptr, begin, next), nullptr);
  runs.release("key", run);  // again, by a client that came at the same time
  EXPECT_EQ(runs.counts().computed, 1U) << "its counts remain, and only once";
  EXPECT_EQ(runs.counts().delivered, 2U);
}

TEST(TogetherRuns, a_client_finds_another_run_than_its_own) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const auto loader = std::move(*Loader::open(opening.data.pipeline()));
  const std::string begin = loader->state();
  ASSERT_TRUE(loader->next().ok());
  Seat a, b, found;
  const auto first = *runs.join("key", begin, 1, a, opening.open(), {});
  EXPECT_EQ(runs.join_other("key", first.get(), begin, found), nullptr);
  const auto second = *runs.join("key", loader->state(), 1, b, opening.open(), {});
  EXPECT_EQ(runs.join_other("key", first.get(), loader->state(), found), second);
  EXPECT_EQ(runs.join_other("another key", first.get(), loader->state(), found), nullptr);
  EXPECT_EQ(second->seats(), 2U);
}

// The keys of two clients whose batches differ in one function alone.
const TogetherKey kOurs("batches", {".map(a.f) 1", ".map(a.g) 2"}), kTheirs("batches", {".map(a.f) 1", ".map(a.g) 3"});

TEST(TogetherRuns, functions_that_differ_are_told_to_all_who_have_waited_in_vain) {
  Opening opening;
  ManualClock clock;
  TogetherRuns runs(kPatience, clock);
  const std::string begin = opening.begin();
  Seat a, b;
  const auto ours = *runs.join(kOurs, begin, 2, a, opening.open(), {});
  const auto theirs = *runs.join(kTheirs, begin, 2, b, opening.open(), {});
  EXPECT_EQ(*ours->next_step(a, seconds(59)), nullptr) << "the others of either group may still come";
  const Status refused = ours->next_step(a, kLong).status();
  EXPECT_LT(clock.passed(), seconds(61));
  EXPECT_EQ(refused.code(), Code::kStateMismatch);
  EXPECT_NE(refused.message().find(".map(a.g) is not the same"), std::string::npos) << refused.message();
  EXPECT_EQ(theirs->next_step(b, kLong).status().to_string(), refused.to_string());
}

TEST(TogetherRuns, clients_that_come_again_are_a_new_group) {
  Opening opening;
  ManualClock clock;
  TogetherRuns runs(kPatience, clock);
  const std::string begin = opening.begin();
  Seat a, b, c, d;
  const auto refused = *runs.join(kOurs, begin, 2, a, opening.open(), {});
  ASSERT_TRUE(runs.join(kTheirs, begin, 2, b, opening.open(), {}).ok());
  ASSERT_EQ(refused->next_step(a, kLong).status().code(), Code::kStateMismatch);
  const auto again = *runs.join(kOurs, begin, 2, c, opening.open(), {});
  EXPECT_NE(again, refused) << "although its clients are still there";
  EXPECT_EQ(*again->next_step(c, seconds(59)), nullptr) << "it waits for its group";
  ASSERT_EQ(*runs.join(kOurs, begin, 2, d, opening.open(), {}), again);
  EXPECT_TRUE(*again->next_step(c, kLong));
  runs.release(kOurs, refused);
  EXPECT_EQ(again->seats(), 2U);
}

TEST(TogetherRuns, groups_of_unlike_functions_wait_beside_each_other) {
  Opening opening;
  ManualClock clock;
  TogetherRuns runs(kPatience, clock);
  const std::string begin = opening.begin();
  Seat a, b, c, d;
  const auto ours = *runs.join(kOurs, begin, 2, a, opening.open(), {});
  const auto theirs = *runs.join(kTheirs, begin, 2, b, opening.open(), {});
  EXPECT_EQ(*runs.join(kTheirs, begin, 2, c, opening.open(), {}), theirs);
  EXPECT_TRUE(*theirs->next_step(b, kLong));
  EXPECT_TRUE(*ours->next_step(a, kLong)) << "a group that lacks a client beside a whole one is no mistake";
  EXPECT_EQ(*runs.join(kOurs, begin, 2, d, opening.open(), {}), ours);
  EXPECT_TRUE(*ours->next_step(d, kLong));
}

TEST(TogetherRuns, functions_may_differ_where_nobody_waits) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  Seat a, b, c, d;
  const auto first = *runs.join(kOurs, begin, 1, a, opening.open(), {});
  const auto second = *runs.join(kTheirs, begin, 2, b, opening.open(), {});
  EXPECT_NE(second, first) << "a group of one does not wait";
  const auto third = *runs.join(kOurs, begin, 1, c, opening.open(), {});
  EXPECT_EQ(third, first) << "a client that waits for nobody is not of the group that waits";
  ASSERT_EQ(*runs.join(kTheirs, begin, 2, d, opening.open(), {}), second);
  EXPECT_TRUE(*second->next_step(b, kLong));
}

TEST(TogetherRuns, results_of_passes_are_those_of_a_key_for_as_long_as_they_are_held) {
  TogetherRuns runs(kPatience);
  auto held = runs.passes(kOurs);
  EXPECT_EQ(runs.passes(kOurs), held);
  EXPECT_NE(runs.passes(kTheirs), held);
  const std::weak_ptr<PassResults> seen = held;
  held.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_NE(runs.passes(kOurs), nullptr);
}

TEST(TogetherRuns, a_stop_ends_the_wait_for_the_passes_of_another_loader) {
  TogetherRuns runs(kPatience);
  const auto passes = runs.passes("key");
  std::stop_source stop;
  auto turn = passes->take_turn({});
  ASSERT_TRUE(turn.ok());
  auto late = std::async(std::launch::async, [&] { return passes->take_turn(stop.get_token()).status(); });
  stop.request_stop();
  EXPECT_EQ(late.get().code(), Code::kCancelled);
  turn = internal_error("over");
  EXPECT_TRUE(passes->take_turn({}).ok()) << "the turn has ended";
}

TEST(TogetherRuns, a_failure_to_open_is_that_client_s_and_the_next_one_tries_again) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  Seat a, b;
  const TogetherRuns::Open fails = [](const std::stop_token&) -> Result<std::shared_ptr<Loader>> {
    return not_found("no such file");
  };
  EXPECT_EQ(runs.join("key", begin, 1, a, fails, {}).status().code(), Code::kNotFound);
  EXPECT_TRUE(runs.join("key", begin, 1, b, opening.open(), {}).ok());
}

TEST(TogetherRuns, a_state_that_the_loader_refuses_is_an_error) {
  Opening opening;
  TogetherRuns runs(kPatience);
  Seat seat;
  EXPECT_FALSE(runs.join("key", "{}", 1, seat, opening.open(), {}).ok());
  EXPECT_TRUE(runs.join("key", opening.begin(), 1, seat, opening.open(), {}).ok());
}

TEST(TogetherRuns, a_client_waits_while_another_one_opens_the_same) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  std::latch opens(1), goes_on(1);
  Seat a, b, c;
  auto first = std::async(std::launch::async, [&] {
    return *runs.join("key", begin, 1, a,
                      [&](const std::stop_token& stop) {
                        opens.count_down();
                        goes_on.wait();
                        return opening.open()(stop);
                      },
                      {});
  });
  opens.wait();
  EXPECT_TRUE(runs.join("another key", begin, 1, c, opening.open(), {}).ok()) << "another key does not wait";
  auto second = std::async(std::launch::async, [&] { return *runs.join("key", begin, 1, b, opening.open(), {}); });
  goes_on.count_down();
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(opening.opened, 2);
}

TEST(TogetherRuns, a_stop_ends_the_wait_for_another_client_s_opening) {
  Opening opening;
  TogetherRuns runs(kPatience);
  const std::string begin = opening.begin();
  std::latch opens(1), goes_on(1);
  Seat a, b;
  auto first = std::async(std::launch::async, [&] {
    return *runs.join("key", begin, 1, a,
                      [&](const std::stop_token& stop) {
                        opens.count_down();
                        goes_on.wait();
                        return opening.open()(stop);
                      },
                      {});
  });
  opens.wait();
  std::stop_source stop;
  auto second = std::async(std::launch::async,
                           [&] { return runs.join("key", begin, 1, b, opening.open(), stop.get_token()).status(); });
  stop.request_stop();
  EXPECT_EQ(second.get().code(), Code::kCancelled);
  goes_on.count_down();
  EXPECT_EQ(first.get()->seats(), 1U);
}

}  // namespace
}  // namespace forebay
