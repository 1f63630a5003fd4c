#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "pipeline/run/runner_chunks_test_support.h"

// Tests several runs on one engine.

namespace forebay {
namespace {

using namespace runner_test;
using std::chrono::seconds;

// Digest of all batches of a run in order; "" after the first error.
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
        digest = digest_of(*rig.run());  // later runs start and end while the first one runs
      return digest;
    }));
  }
  for (auto& run : runs) EXPECT_EQ(run.get(), expected);
  EXPECT_EQ(engine->executor->threads(), 2);
}

std::atomic<int64_t> now_ns{0};  // clock of the next test

// Both threads are in the slow run. Once one of them is free, the other run has it until its end.
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

TEST(RunnerSharing, an_operator_may_take_batches_of_another_run) {
  const auto engine = std::make_shared<Engine>(1);
  Rig other = on(engine);
  other.epochs.reset();
  const std::shared_ptr<Runner> inner = other.run();
  std::mutex one_at_a_time;
  Rig rig = on(engine);
  rig.ops = {{"takes", [&](Record& record, const SampleContext& context) -> Status {
                const std::lock_guard lock(one_at_a_time);
                FOREBAY_RETURN_IF_ERROR(inner->next_for(seconds(120)).status());
                return summary()(record, context);
              }}};
  EXPECT_NE(digest_of(*rig.run()), "");
}

TEST(RunnerSharing, memory_that_nobody_gave_is_divided_and_comes_back) {
  const auto engine = std::make_shared<Engine>(2);
  Rig rig = on(engine);
  rig.options.memory.share.wanted = 600'000;
  rig.options.memory.share.least = 100'000;
  rig.options.memory.share.shared_limit = 1'000'000;
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

// Sum of the numbers of times that each chunk was decoded.
int64_t decodes_of(const Runner& runner) {
  int64_t sum = 0;
  for (uint32_t each : runner.decodes()) sum += each;
  return sum;
}

ChunkRig chunks_on(const std::shared_ptr<Engine>& engine, uint64_t identity) {
  ChunkRig rig;
  rig.engine = engine;
  rig.identity = identity;
  rig.block = 1;
  return rig;
}

// The runs take batches in turn, as two models do that are trained together.
TEST(RunnerSharing, runs_over_the_same_table_decode_a_chunk_once) {
  const auto engine = std::make_shared<Engine>(2);
  ChunkRig rig = chunks_on(engine, 7);
  const std::shared_ptr<Runner> one = rig.make(), two = rig.make();
  for (;;) {
    Result<Runner::Delivery> first = one->next_for(seconds(120)), second = two->next_for(seconds(120));
    ASSERT_TRUE(first.ok() && second.ok() && !first->timed_out && !second->timed_out);
    ASSERT_EQ(first->batch.has_value(), second->batch.has_value());
    if (!first->batch) break;
    EXPECT_EQ(lines_of(*first->batch), lines_of(*second->batch));
  }
  const auto chunks = static_cast<int64_t>(rig.rows.size());
  const int64_t together = decodes_of(*one) + decodes_of(*two);
  EXPECT_LE(together, 3 * chunks) << "about once in each of two epochs, not by each run";
}

TEST(RunnerSharing, runs_over_other_data_share_no_chunk) {
  const auto engine = std::make_shared<Engine>(2);
  const std::shared_ptr<Runner> one = chunks_on(engine, 7).make(), two = chunks_on(engine, 8).make();
  EXPECT_EQ(digest_of(*one), digest_of(*two));
  // Each run decodes its own chunks in two epochs. A chunk of the first may still be in memory in
  // the second.
  const auto chunks = static_cast<int64_t>(ChunkRig().rows.size());
  EXPECT_GE(decodes_of(*one), 2 * chunks - 1);
  EXPECT_GE(decodes_of(*two), 2 * chunks - 1);
}

// A run that waits for another run's work continues when that run is closed, is slow, or lacks
// memory.
TEST(RunnerSharing, a_run_that_is_not_asked_for_anything_holds_up_no_other) {
  const auto engine = std::make_shared<Engine>(2);
  const std::string expected = digest_of(*chunks_on(std::make_shared<Engine>(2), 0).make());
  for (int64_t begun = 0; begun < 6; ++begun) {
    ChunkRig rig = chunks_on(engine, 7);
    rig.options.memory.share.wanted = uint64_t{24} << 10;  // hardly enough for this run alone
    const std::shared_ptr<Runner> idle = rig.make();
    for (int64_t i = 0; i < begun; ++i) ASSERT_TRUE(idle->next_for(seconds(120)).ok());
    EXPECT_EQ(digest_of(*chunks_on(engine, 7).make()), expected) << begun;
  }
}

TEST(RunnerSharing, runs_over_one_table_come_and_go_while_others_wait_for_their_chunks) {
  const auto engine = std::make_shared<Engine>(2);
  const std::string expected = digest_of(*chunks_on(std::make_shared<Engine>(2), 0).make());
  std::vector<std::future<int>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::async(std::launch::async, [&, i] {
      int right = 0;
      for (int round = 0; round < 10; ++round) {
        ChunkRig rig = chunks_on(engine, 7);
        rig.options.memory.share.wanted = uint64_t{1} << (round % 2 == 0 ? 24 : 20);
        const std::shared_ptr<Runner> runner = rig.make();
        if ((round + i) % 3 == 0) {
          (void)runner->next_for(seconds(120));
          runner->close();
          ++right;
        } else {
          right += digest_of(*runner) == expected;
        }
      }
      return right;
    }));
  }
  for (auto& each : others) EXPECT_EQ(each.get(), 10);
}

// Takes batches until a decision was made, for a minute at most.
std::deque<RunTuning::Decision> decisions_of(Runner& runner) {
  for (const int64_t begun = monotonic_ns(); monotonic_ns() - begun < 60'000'000'000;) {
    if (!runner.next_for(seconds(60)).ok()) break;
    if (auto decisions = runner.stats().decisions; !decisions.empty()) return decisions;
  }
  return {};
}

TEST(RunnerSharing, threads_follow_the_cores_and_batches_do_not_notice) {
  std::atomic<int> cores = 1;
  Rig rig;
  rig.epochs = {};
  rig.engine = std::make_shared<Engine>(1, monotonic_ns, [&](const Executor&) { return cores.load(); });
  rig.options.threads = 1;
  rig.options.memory.per_thread = 1000;
  const auto runner = rig.run();
  const uint64_t before = runner->stats().memory.of(Use::kWorking);
  ASSERT_TRUE(runner->next_for(seconds(60)).ok());
  EXPECT_EQ(runner->stats().threads, 1);
  cores = 3;
  const auto decisions = decisions_of(*runner);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].what, "threads");
  EXPECT_EQ(decisions[0].from, 1);
  EXPECT_EQ(decisions[0].to, 3);
  EXPECT_GT(decisions[0].at_ns, 0);
  EXPECT_EQ(runner->stats().threads, 3);
  EXPECT_EQ(rig.engine->executor->threads(), 3);
  EXPECT_EQ(runner->stats().memory.of(Use::kWorking), before + 2000);

  Rig alone = on(std::make_shared<Engine>(1));
  alone.epochs = 1;
  runner->seek({0, 0, 0});
  Hasher hasher;
  for (int64_t batch = 0; batch < 7; ++batch) {  // 50 samples in batches of 8
    const Result<Runner::Delivery> delivery = runner->next_for(seconds(60));
    ASSERT_TRUE(delivery.ok() && delivery->batch);
    for (const BatchField& field : delivery->batch->fields)
      for (int64_t row = 0; row < delivery->batch->size(); ++row)
        hasher.update(field.row(row).data(), field.row(row).size());
  }
  EXPECT_EQ(hasher.digest().to_string(), digest_of(*alone.run()));
}

TEST(RunnerSharing, a_number_of_threads_that_somebody_gave_is_never_overruled) {
  std::atomic<int> cores = 1, looks = 0;
  Rig rig;
  rig.epochs = {};
  rig.engine = std::make_shared<Engine>(1, monotonic_ns, [&](const Executor&) { return ++looks, cores.load(); });
  rig.options.own_threads = true;
  const auto runner = rig.run();
  while (looks < 3) {
    ASSERT_TRUE(runner->next_for(seconds(60)).ok());
    cores = 4;
  }
  EXPECT_EQ(runner->stats().threads, rig.options.threads);
  EXPECT_TRUE(runner->stats().decisions.empty());
}

}  // namespace
}  // namespace forebay
