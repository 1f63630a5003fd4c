#include "serve/server/together.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

#include "forebay/ledger.h"
#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::digest_of;
using serve_test::epoch_of;
using serve_test::Running;
using serve_test::shared;

nlohmann::json together_of(Running& server) { return nlohmann::json::parse((*server).status())["together"]; }

std::string alone(const Data& data, int epochs = 1) {
  const auto loader = std::move(*Loader::open(data.pipeline()));
  std::string digest;
  for (int i = 0; i < epochs; ++i) digest += digest_of(epoch_of(*loader));
  return digest;
}

TEST(Together, members_get_the_same_memory_made_once) {
  const Data data;
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(), {}, 2), b = shared(data, data.pipeline(), {}, 2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<Batch> of_a, of_b;
    while (true) {
      auto x = a->next(), y = b->next();
      ASSERT_TRUE(x.ok() && y.ok());
      ASSERT_EQ(x->has_value(), y->has_value());
      if (!x->has_value()) break;
      of_a.push_back(std::move(**x));
      of_b.push_back(std::move(**y));
      EXPECT_EQ(a->state(), b->state());
    }
    EXPECT_EQ(digest_of(of_a), digest_of(of_b));
    EXPECT_TRUE(epoch > 0 || digest_of(of_a) == alone(data));
  }
  const nlohmann::json counts = together_of(server);
  EXPECT_GE(counts["batches_given"], 60);
  EXPECT_LE(counts["batches_made"], 40);
}

TEST(Together, who_falls_behind_goes_on_alone_with_the_same_batches) {
  const Data data;
  Running server(data.socket(), std::chrono::milliseconds(20));
  const auto fast = shared(data, data.pipeline(), {}, 2), slow = shared(data, data.pipeline(), {}, 2);
  std::vector<Batch> of_slow;
  ASSERT_TRUE(fast->next().ok());
  of_slow.push_back(std::move(**slow->next()));
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(fast->next().ok());  // four epochs without a wait
  for (Batch& batch : epoch_of(*slow)) of_slow.push_back(std::move(batch));
  EXPECT_EQ(digest_of(of_slow), alone(data));
}

TEST(Together, who_is_slow_and_never_stands_still_goes_on_alone_as_well) {
  const Data data;
  Running server(data.socket(), std::chrono::milliseconds(100));
  const auto fast = shared(data, data.pipeline(), {}, 2), slow = shared(data, data.pipeline(), {}, 2);
  std::atomic<bool> over = false;
  std::jthread takes([&] {
    while (!over) ASSERT_TRUE(fast->next().ok());
  });
  // Each step takes far less time than the others are willing to wait.
  const auto left_behind = [&] {
    const nlohmann::json counts = together_of(server);
    return counts["batches_made"].get<int64_t>() > counts["batches_given"].get<int64_t>() / 2 + 30;
  };
  std::vector<Batch> of_slow;
  while (!left_behind()) {
    auto batch = slow->next();
    ASSERT_TRUE(batch.ok());
    if (batch->has_value() && of_slow.size() < 15) of_slow.push_back(std::move(**batch));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  over = true;
  while (of_slow.size() < 15) of_slow.push_back(std::move(**slow->next()));
  EXPECT_EQ(digest_of(of_slow), alone(data));
}

TEST(Together, totals_go_on_where_a_member_goes_on_alone) {
  const Data data;
  Running server(data.socket(), std::chrono::milliseconds(20));
  const auto fast = shared(data, data.pipeline(), {}, 2), slow = shared(data, data.pipeline(), {}, 2);
  ASSERT_TRUE(fast->next().ok() && slow->next().ok());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(fast->next().ok());
  const Ledger before = slow->stats();
  ASSERT_GT(before.batches, 40);
  ASSERT_TRUE(slow->next().ok() && slow->next().ok());  // the second from a run of its own
  const Ledger after = slow->stats();
  EXPECT_GT(after.batches, before.batches);
  EXPECT_GT(after.samples, before.samples);
  EXPECT_GE(after.elapsed_seconds, before.elapsed_seconds);
}

TEST(Together, what_is_opened_later_does_not_hold_up_its_client) {
  const Data data;
  std::atomic<bool> first = true, goes_on = false;
  const TogetherRuns::Open open = [&](const std::stop_token& stop) -> Result<std::unique_ptr<Loader>> {
    const bool waits = !first.exchange(false);
    while (waits && !goes_on && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (stop.stop_requested()) return cancelled("stopped");
    return Loader::open(data.pipeline());
  };
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::seconds(30));
  const auto feed =
      std::move(*together_feed(std::move(*Loader::open(data.pipeline())), runs, "key", 1, open, std::stop_token()));
  bool timed_out = false;
  for (const int64_t epoch : {2, 1}) {  // a change of position ends the opening
    ASSERT_TRUE(feed->position().set_epoch(epoch).ok());
    feed->moved();
    ASSERT_TRUE(feed->next_for(std::chrono::milliseconds(10), &timed_out).ok());
    EXPECT_TRUE(timed_out);
  }
  goes_on = true;
  Result<std::optional<Batch>> batch = feed->next_for(std::chrono::seconds(1), &timed_out);
  while (batch.ok() && timed_out) batch = feed->next_for(std::chrono::seconds(1), &timed_out);
  ASSERT_TRUE(batch.ok() && batch->has_value()) << batch.status().to_string();
  EXPECT_EQ((*batch)->epoch, 1);
}

TEST(Together, closing_ends_what_is_being_opened) {
  const Data data;
  std::atomic<bool> first = true;
  const TogetherRuns::Open open = [&](const std::stop_token& stop) -> Result<std::unique_ptr<Loader>> {
    if (first.exchange(false)) return Loader::open(data.pipeline());
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return cancelled("stopped");
  };
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::seconds(30));
  const auto feed =
      std::move(*together_feed(std::move(*Loader::open(data.pipeline())), runs, "key", 1, open, std::stop_token()));
  ASSERT_TRUE(feed->position().set_epoch(2).ok());
  feed->moved();
  bool timed_out = false;
  ASSERT_TRUE(feed->next_for(std::chrono::milliseconds(10), &timed_out).ok());
  feed->close();
  EXPECT_EQ(feed->next_for(std::chrono::minutes(5), &timed_out).status().code(), Code::kCancelled);
}

TEST(Together, a_member_that_comes_to_the_same_place_gets_the_same_steps) {
  const Data data;
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(), {}, 1);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(a->next().ok());
  const auto b = shared(data, data.pipeline(), {}, 1);
  ASSERT_TRUE(b->load_state(a->state()).ok());
  const std::vector<Batch> of_b = epoch_of(*b);
  EXPECT_EQ(digest_of(of_b), digest_of(epoch_of(*a)));
  const nlohmann::json counts = together_of(server);
  EXPECT_GT(counts["batches_saved"], 0);
}

TEST(Together, the_last_epoch_ends_for_all) {
  const Data data;
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(), {.epochs = 1}, 2), b = shared(data, data.pipeline(), {.epochs = 1}, 2);
  std::thread other([&] { EXPECT_EQ(epoch_of(*b).size(), 15U); });
  EXPECT_EQ(epoch_of(*a).size(), 15U);
  other.join();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(a->next()->has_value());
  EXPECT_TRUE(a->finished());
}

TEST(Together, others_with_another_seed_are_others) {
  const Data data;
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(), {.seed = 1}, 1), b = shared(data, data.pipeline(), {.seed = 2}, 1);
  EXPECT_NE(digest_of(epoch_of(*a)), digest_of(epoch_of(*b)));
}

}  // namespace
}  // namespace forebay
