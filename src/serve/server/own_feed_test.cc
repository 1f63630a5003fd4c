#include "serve/server/own_feed.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"
#include "serve/server/carried_counters.h"
#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;

TEST(OwnFeed, totals_go_on_with_another_loader) {
  const Data data;
  const FindBetter better = [&](uint64_t* seen) -> OpenAnother {
    if ((*seen)++ > 0) return {};
    return [&](const std::stop_token&) -> Result<Reopened> {
      FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(data.pipeline()));
      return Reopened{std::move(loader), "a cache"};
    };
  };
  const auto feed = own_feed(std::move(*Loader::open(data.pipeline())), better);
  const auto step = [&] {
    bool timed_out = true;
    Result<std::optional<Batch>> batch = std::optional<Batch>();
    while (batch.ok() && timed_out) batch = feed->next_for(std::chrono::seconds(10), &timed_out);
    ASSERT_TRUE(batch.ok()) << batch.status().to_string();
  };
  Ledger before;
  for (int i = 0; i < 100'000 && feed->shares().empty(); ++i) {
    before = feed->stats();
    step();
  }
  ASSERT_EQ(feed->shares(), "a cache");
  for (int i = 0; i < 3; ++i) step();
  const Ledger after = feed->stats();
  EXPECT_GT(after.batches, before.batches);
  EXPECT_GT(after.samples, before.samples);
  EXPECT_GE(after.elapsed_seconds, before.elapsed_seconds);
  EXPECT_GE(after.thread_time.rows, before.thread_time.rows);
}

TEST(CarriedCounters, each_is_a_sum_and_steps_are_found_by_name) {
  Ledger before, now;
  before.steps = {{.name = "decode_image", .samples = 5}, {.name = "resize", .samples = 4}};
  now.steps = {
      {.name = "decode_image", .samples = 1}, {.name = "cache", .samples = 1}, {.name = "resize", .samples = 2}};
  before.stores = {{.name = "files", .requests = 7}};
  now.stores = {{.name = "files", .requests = 1}};
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
  EXPECT_EQ(apart.chunks, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(apart.batches, 10);
  EXPECT_EQ(apart.waits.storage, 2);
  ASSERT_EQ(apart.tuning.size(), 2U);
  EXPECT_EQ(apart.tuning[0].what, "threads");
  EXPECT_EQ(apart.tuning[1].seconds, 11);
  carry_counters(before, now, /*same_store=*/true);
  EXPECT_EQ(now.stores[0].requests, 1U);
}

}  // namespace
}  // namespace forebay
