#include "serve/server/carried_counters.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"

namespace forebay {
namespace {

TEST(CarriedCounters, each_is_a_sum_and_steps_are_found_by_name) {
  Ledger before, now;
  before.steps = {{.name = "decode_image", .samples = 5}, {.name = "resize", .samples = 4}};
  now.steps = {
      {.name = "decode_image", .samples = 1}, {.name = "cache", .samples = 1}, {.name = "resize", .samples = 2}};
  before.stores = {{.name = "files", .requests = 7}};
  now.stores = {{.name = "files", .requests = 1}};
  before.parts = {{.name = "web", .samples = 3, .passes = 1, .bytes = 30, .waiting_seconds = 2}};
  now.parts = {{.name = "web", .samples = 1, .passes = 2, .bytes = 10, .waiting_seconds = 1}};
  before.chunks = {1, 0};
  now.chunks = {0, 2};
  before.batches = 9;
  before.elapsed_seconds = 10;
  before.waits.storage = 2;
  before.tuning.emplace_back().what = "threads";
  now.tuning.emplace_back().seconds = 1;
  now.batches = 1;
  Ledger apart = now;
  carry_counters(before, apart, /*same_store=*/false);
  EXPECT_EQ(apart.steps[0].samples, 6);
  EXPECT_EQ(apart.steps[1].samples, 1);
  EXPECT_EQ(apart.steps[2].samples, 6);
  EXPECT_EQ(apart.stores[0].requests, 8U);
  EXPECT_EQ(apart.parts[0].samples, 4);
  EXPECT_EQ(apart.parts[0].passes, 2) << "counted from the beginning of training";
  EXPECT_EQ(apart.parts[0].bytes, 40U);
  EXPECT_EQ(apart.parts[0].waiting_seconds, 3);
  EXPECT_EQ(apart.chunks, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(apart.batches, 10);
  EXPECT_EQ(apart.waits.storage, 2);
  ASSERT_EQ(apart.tuning.size(), 2U);
  EXPECT_EQ(apart.tuning[0].what, "threads");
  EXPECT_EQ(apart.tuning[1].seconds, 11);
  carry_counters(before, now, /*same_store=*/true);
  EXPECT_EQ(now.stores[0].requests, 1U);
}

TEST(CarriedCounters, steps_of_one_name_are_added_in_their_order) {
  Ledger before, now;
  before.steps = {{.name = "resize", .samples = 1}, {.name = "flip", .samples = 2}, {.name = "resize", .samples = 4}};
  now.steps = {{.name = "resize"}, {.name = "flip"}, {.name = "resize"}};
  carry_counters(before, now, false);
  EXPECT_EQ(now.steps[0].samples, 1);
  EXPECT_EQ(now.steps[1].samples, 2);
  EXPECT_EQ(now.steps[2].samples, 4);
}

TEST(CarriedCounters, a_step_that_the_new_loader_lacks_is_left_out) {
  Ledger before, now;
  before.steps = {{.name = "cache", .samples = 3}, {.name = "flip", .samples = 2}};
  now.steps = {{.name = "flip", .samples = 1}};
  carry_counters(before, now, false);
  ASSERT_EQ(now.steps.size(), 1U);
  EXPECT_EQ(now.steps[0].samples, 3);
}

TEST(CarriedCounters, another_store_is_not_added) {
  Ledger before, now;
  before.stores = {{.name = "s3://a/", .requests = 7}};
  now.stores = {{.name = "s3://b/", .requests = 1}};
  carry_counters(before, now, false);
  EXPECT_EQ(now.stores[0].requests, 1U);
  now.stores.clear();
  carry_counters(before, now, false);
  EXPECT_TRUE(now.stores.empty());
}

TEST(CarriedCounters, histograms_are_added_if_their_ranges_are_the_same) {
  Ledger before, now;
  before.stores.emplace_back().read_bytes = {{1, 2}, {3, 4, 5}, 20};
  before.stores[0].latency_seconds = {{1}, {2, 3}, 4};
  now.stores.emplace_back().read_bytes = {{1, 2}, {10, 20, 30}, 200};
  carry_counters(before, now, false);
  EXPECT_EQ(now.stores[0].read_bytes.counts, (std::vector<uint64_t>{13, 24, 35}));
  EXPECT_EQ(now.stores[0].read_bytes.sum, 220);
  EXPECT_EQ(now.stores[0].latency_seconds.counts, (std::vector<uint64_t>{2, 3})) << "an empty one takes the ranges";
  before.stores[0].read_bytes.bounds = {1, 3};
  carry_counters(before, now, false);
  EXPECT_EQ(now.stores[0].read_bytes.sum, 220) << "other ranges cannot be added";
}

TEST(CarriedCounters, the_uncertainty_of_two_samples_adds_up_as_independent_ones_do) {
  Ledger before, now;
  before.steps = {{.name = "a", .busy_seconds = 1, .busy_uncertainty_seconds = 3}};
  now.steps = {{.name = "a", .busy_seconds = 2, .busy_uncertainty_seconds = 4}};
  carry_counters(before, now, false);
  EXPECT_DOUBLE_EQ(now.steps[0].busy_seconds, 3);
  EXPECT_DOUBLE_EQ(now.steps[0].busy_uncertainty_seconds, 5);
}

TEST(CarriedCounters, the_peak_of_memory_is_the_larger_one_and_gauges_are_the_new_loader_s) {
  Ledger before, now;
  before.memory_peak = 10;
  before.memory_used = 9;
  before.threads = 8;
  now.memory_peak = 7;
  now.memory_used = 1;
  now.threads = 2;
  carry_counters(before, now, false);
  EXPECT_EQ(now.memory_peak, 10U);
  EXPECT_EQ(now.memory_used, 1U);
  EXPECT_EQ(now.threads, 2);
}

TEST(CarriedCounters, every_part_of_the_waits_and_of_the_threads_time_is_added) {
  Ledger before, now;
  before.waits = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  before.thread_time = {1, 2, 3, 4, 5, 6};
  before.thread_cpu = {6, 5, 4, 3, 2, 1};
  before.consumer_wait_seconds = 55;
  for (int i = 0; i < 2; ++i) carry_counters(before, now, false);
  EXPECT_EQ(now.waits.plan, 2);
  EXPECT_EQ(now.waits.interpreter, 20);
  EXPECT_EQ(now.waits.plan + now.waits.arrival + now.waits.memory + now.waits.slot + now.waits.storage +
                now.waits.thread + now.waits.compute + now.waits.user + now.waits.assembly + now.waits.interpreter,
            now.consumer_wait_seconds);
  EXPECT_EQ(now.thread_time.idle, 12);
  EXPECT_EQ(now.thread_cpu.rows, 12);
}

TEST(CarriedCounters, the_latest_changes_of_the_engine_are_retained) {
  Ledger before, now;
  for (int i = 0; i < 60; ++i) before.tuning.emplace_back().from = i;
  for (int i = 60; i < 70; ++i) now.tuning.emplace_back().from = i;
  carry_counters(before, now, false);
  ASSERT_EQ(now.tuning.size(), 64U);
  EXPECT_EQ(now.tuning.front().from, 6);
  EXPECT_EQ(now.tuning.back().from, 69);
}

TEST(CarriedCounters, row_groups_of_which_only_one_loader_knows_stay_as_they_are) {
  Ledger before, now;
  before.chunks = {1, 1, 1};
  now.chunks = {2};
  carry_counters(before, now, false);
  EXPECT_EQ(now.chunks, std::vector<uint32_t>{3});
}

}  // namespace
}  // namespace forebay
