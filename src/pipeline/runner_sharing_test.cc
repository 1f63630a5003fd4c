#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "pipeline/runner_test_support.h"

// Several runs on one engine.

namespace forebay {
namespace {

using namespace runner_test;
using std::chrono::seconds;

// All batches of a run, as they come; "" at the first error.
std::string digest_of(Runner& runner) {
  Hasher hasher;
  for (;;) {
    Result<Runner::Delivery> delivery = runner.next_for(seconds(120));
    if (!delivery.ok() || delivery->timed_out) return "";
    if (!delivery->batch) return hasher.digest().to_string();
    const Batch& batch = *delivery->batch;
    for (const BatchField& field : batch.fields) {
      for (int64_t row = 0; row < batch.size(); ++row) hasher.update(field.row(row).data(), field.row(row).size());
    }
  }
}

Rig on(const std::shared_ptr<Engine>& engine) {
  Rig rig;
  rig.engine = engine;
  return rig;
}

TEST(RunnerSharing, runs_of_different_age_and_pace_deliver_what_each_delivers_alone) {
  Rig alone;
  alone.epochs = 3;
  const std::string expected = digest_of(*alone.run());
  ASSERT_NE(expected, "");

  const auto engine = std::make_shared<Engine>(2);
  std::vector<std::future<std::string>> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(std::async(std::launch::async, [&, i] {
      Rig rig = on(engine);
      rig.epochs = 3;
      rig.options.threads = 1 + i % 2;
      std::string digest;
      for (int round = 0; round <= i; ++round)
        digest = digest_of(*rig.run());  // the later ones are born and die beside the first
      return digest;
    }));
  }
  for (auto& run : runs) EXPECT_EQ(run.get(), expected);
  EXPECT_EQ(engine->executor->threads(), 2);
}

std::atomic<int64_t> now_ns{0};  // of the next test

// Both threads are with the slow run; as soon as one is free, the other run has it until it is through.
TEST(RunnerSharing, a_run_whose_operator_does_not_return_holds_up_no_other) {
  const auto engine = std::make_shared<Engine>(2, [] { return now_ns.load(); });
  std::promise<void> first, all;
  const std::shared_future<void> first_opens(first.get_future()), all_open(all.get_future());
  std::atomic<int> entered = 0;
  Rig slow = on(engine);
  slow.ops = {{"slow", [&](Record& record, const SampleContext& context) -> Status {
                 const int turn = entered++;
                 (turn == 0 ? first_opens : all_open).wait();
                 return summary()(record, context);
               }}};
  const std::shared_ptr<Runner> stuck = slow.run();
  ASSERT_TRUE(stuck->next_for(std::chrono::milliseconds(1))->timed_out);
  while (entered < 2) std::this_thread::yield();

  const std::shared_ptr<Runner> quick = on(engine).run();
  ASSERT_TRUE(quick->next_for(std::chrono::milliseconds(1))->timed_out);
  now_ns += 100'000'000;
  first.set_value();
  EXPECT_NE(digest_of(*quick), "");
  EXPECT_EQ(entered, 2);
  all.set_value();
  EXPECT_NE(digest_of(*stuck), "");
}

TEST(RunnerSharing, memory_that_nobody_gave_is_divided_and_comes_back) {
  const auto engine = std::make_shared<Engine>(2);
  Rig rig = on(engine);
  rig.options.memory = 600'000;
  rig.options.memory_least = 100'000;
  rig.options.memory_together = 1'000'000;
  const std::shared_ptr<Runner> one = rig.run();
  EXPECT_EQ(one->stats().memory.capacity, 600'000u);
  const std::shared_ptr<Runner> two = rig.run();
  EXPECT_EQ(one->stats().memory.capacity, 500'000u);
  EXPECT_EQ(two->stats().memory.capacity, 500'000u);
  EXPECT_EQ(digest_of(*one), digest_of(*two));
  two->close();
  EXPECT_EQ(one->stats().memory.capacity, 600'000u);
}

TEST(RunnerSharing, a_run_that_is_closed_leaves_no_thread_behind_if_it_was_the_last) {
  std::weak_ptr<Engine> known;
  std::shared_ptr<Runner> runner;
  {
    Rig rig;
    known = rig.engine;
    runner = rig.run();
    EXPECT_NE(digest_of(*runner), "");
  }
  EXPECT_FALSE(known.expired());
  runner->close();
  EXPECT_TRUE(known.expired());
}

}  // namespace
}  // namespace forebay
