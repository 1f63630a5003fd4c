#include "study/sample_cost.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"

namespace forebay {
namespace {

Ledger ledger(int64_t samples, double cpu_seconds, uint64_t bytes, uint64_t requests) {
  Ledger ledger;
  ledger.samples = samples;
  ledger.thread_cpu.rows = cpu_seconds / 2;
  ledger.thread_cpu.assembly = cpu_seconds / 2;
  ledger.threads = 2;
  ledger.stores = {{.name = "files", .requests = requests, .bytes = bytes}};
  return ledger;
}

TEST(SampleCost, IsTheDifferenceOfTwoLedgers) {
  const SampleCost cost = cost_between(ledger(100, 1, 1000, 100), ledger(300, 5, 41'000, 300), 80);
  EXPECT_DOUBLE_EQ(cost.cpu_seconds, 0.02);
  EXPECT_DOUBLE_EQ(cost.stored_bytes, 200);
  EXPECT_DOUBLE_EQ(cost.stored_reads, 1);
  EXPECT_DOUBLE_EQ(cost.other_seconds, 1.0 / 80 - 0.02 / 2) << "what two cores would not have taken";
  EXPECT_EQ(cost.store_seconds, 0);
}

TEST(SampleCost, OfNoSampleIsZero) {
  EXPECT_EQ(cost_between(ledger(5, 1, 1, 1), ledger(5, 2, 2, 2), 1).cpu_seconds, 0);
}

TEST(SampleCost, AStoreThatWasWaitedForIsTheLimitAndNotTheCores) {
  Ledger after = ledger(100, 0.1, 100, 100);
  after.waits.storage = 0.9;
  after.waits.compute = 0.1;
  const SampleCost cost = cost_between({}, after, 50);
  EXPECT_DOUBLE_EQ(cost.store_seconds, 0.02);
  EXPECT_EQ(cost.other_seconds, 0);
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 64, {}), 0.02) << "more cores do not help";
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 2, {.latency_seconds = 0.0064}), 0.0005) << "another store does";
}

TEST(SampleCost, GoesWithTheRateThatItBelongsTo) {
  const SampleCost cost = cost_between({}, ledger(100, 0.5, 1, 1), 100);
  EXPECT_DOUBLE_EQ(1 / seconds_per_sample(scaled_cost(cost, 1.25), 2, {}), 1.25 / seconds_per_sample(cost, 2, {}));
}

TEST(SampleCost, MoreCoresShareTheWorkAndNothingElse) {
  const SampleCost cost{.cpu_seconds = 0.04, .other_seconds = 0.01};
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 1, {}), 0.05);
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 4, {}), 0.02);
}

TEST(SampleCost, AStoreTakesTheLongerOfAnsweringAndMoving) {
  const SampleCost cost{.cpu_seconds = 0.001, .stored_bytes = 1e6, .stored_reads = 2};
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 1, {.latency_seconds = 0.64}), 0.02);
  EXPECT_DOUBLE_EQ(seconds_per_sample(cost, 1, {.latency_seconds = 0.64, .bytes_per_second = 1e7}), 0.1);
  EXPECT_DOUBLE_EQ(seconds_per_sample({.cpu_seconds = 0.001}, 1, {.latency_seconds = 0.64}), 0.001)
      << "nothing is read";
}

}  // namespace
}  // namespace forebay
