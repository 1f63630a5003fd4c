#include "serve/server/together.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "forebay/ledger.h"
#include "serve/server/serve_test_support.h"
#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::digest_of;
using serve_test::epoch_of;
using serve_test::open_loader;
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

TEST(Together, a_late_member_continues_alone_with_the_same_batches) {
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

// Each step takes far less time than the others are willing to wait. Time passes only while a
// member waits.
TEST(Together, a_slow_member_continues_alone) {
  const Data data;
  serve_test::ManualClock clock;
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::milliseconds(1000), clock);
  const auto member = [&] {
    return std::move(*together_feed(
        std::move(*Loader::open(data.pipeline())), runs, "key", 1,
        [&](const std::stop_token&) { return open_loader(data.pipeline()); }, std::stop_token()));
  };
  const auto fast = member(), slow = member();
  std::vector<Batch> of_slow;
  const auto take = [&](Feed& feed, bool* timed_out) {
    Result<std::optional<Batch>> batch = feed.next_for(std::chrono::milliseconds(250), timed_out);
    EXPECT_TRUE(batch.ok()) << batch.status().to_string();
    if (batch.ok() && batch->has_value() && &feed == slow.get()) of_slow.push_back(std::move(**batch));
  };
  bool timed_out = false;
  while (!timed_out) take(*fast, &timed_out);  // until it waits for the other one
  int together = 0;
  for (; slow->shares() != "" && together < 100; ++together) {
    take(*slow, &timed_out);
    for (timed_out = false; !timed_out && slow->shares() != "";) take(*fast, &timed_out);
  }
  EXPECT_GT(together, 1);
  EXPECT_LT(together, 10);
  const uint64_t computed = runs->counts().computed;
  while (of_slow.size() < 15) take(*slow, &timed_out);
  of_slow.resize(15);
  EXPECT_EQ(digest_of(of_slow), alone(data));
  EXPECT_GT(runs->counts().computed, computed) << "some were computed for the slow one alone";
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

/// Where threads wait until the test opens it, or they are stopped.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Returns whether the gate was opened.
  bool wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ = false;
};

TEST(Together, what_is_opened_later_does_not_hold_up_its_client) {
  const Data data;
  std::atomic<bool> first = true;
  Gate gate;
  const TogetherRuns::Open open = [&](const std::stop_token& stop) -> Result<std::shared_ptr<Loader>> {
    if (!first.exchange(false) && !gate.wait(stop)) return cancelled("stopped");
    return open_loader(data.pipeline());
  };
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::seconds(30));
  const auto feed =
      std::move(*together_feed(std::move(*Loader::open(data.pipeline())), runs, "key", 1, open, std::stop_token()));
  bool timed_out = false;
  for (const int64_t epoch : {2, 1}) {  // a change of position ends the opening
    ASSERT_TRUE(feed->position().set_epoch(epoch).ok());
    feed->position_changed();
    ASSERT_TRUE(feed->next_for(std::chrono::milliseconds(10), &timed_out).ok());
    EXPECT_TRUE(timed_out);
  }
  gate.open();
  Result<std::optional<Batch>> batch = feed->next_for(std::chrono::seconds(1), &timed_out);
  while (batch.ok() && timed_out) batch = feed->next_for(std::chrono::seconds(1), &timed_out);
  ASSERT_TRUE(batch.ok() && batch->has_value()) << batch.status().to_string();
  EXPECT_EQ((*batch)->epoch, 1);
}

TEST(Together, closing_ends_what_is_being_opened) {
  const Data data;
  std::atomic<bool> first = true;
  Gate gate;
  const TogetherRuns::Open open = [&](const std::stop_token& stop) -> Result<std::shared_ptr<Loader>> {
    if (first.exchange(false)) return open_loader(data.pipeline());
    (void)gate.wait(stop);
    return cancelled("stopped");
  };
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::seconds(30));
  const auto feed =
      std::move(*together_feed(std::move(*Loader::open(data.pipeline())), runs, "key", 1, open, std::stop_token()));
  ASSERT_TRUE(feed->position().set_epoch(2).ok());
  feed->position_changed();
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

// ---- one member's feed

/// Members of one key, each with a feed, on the thread of the test.
struct Members {
  std::unique_ptr<Feed> add(int wanted = 1) {
    return std::move(*together_feed(
        std::move(*Loader::open(data.pipeline(), options)), runs, "key", wanted,
        [this](const std::stop_token&) {
          ++opened;
          return open_loader(data.pipeline(), options);
        },
        std::stop_token()));
  }
  static std::optional<Batch> next(Feed& feed) {
    bool timed_out = true;
    while (timed_out) {
      Result<std::optional<Batch>> batch = feed.next_for(std::chrono::seconds(1), &timed_out);
      EXPECT_TRUE(batch.ok()) << batch.status().to_string();
      if (!batch.ok()) return std::nullopt;
      if (!timed_out) return std::move(*batch);
    }
    return std::nullopt;
  }

  Data data;
  LoaderOptions options;
  std::shared_ptr<TogetherRuns> runs = std::make_shared<TogetherRuns>(std::chrono::minutes(5));
  std::atomic<int> opened = 0;
};

TEST(TogetherFeed, says_with_how_many_others_it_shares) {
  Members members;
  const auto a = members.add();
  EXPECT_EQ(a->shares(), "");
  auto b = members.add();
  const auto c = members.add();
  EXPECT_EQ(a->shares(), "batches, with 2 others");
  b.reset();
  EXPECT_EQ(a->shares(), "batches, with 1 others");
  EXPECT_EQ(members.opened, 1);
}

TEST(TogetherFeed, a_member_alone_joins_others_that_have_come_to_its_place) {
  Members members;
  const auto a = members.add();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Members::next(*a));
  const auto b = members.add();  // the window of the first run begins at the start, so it joins there
  EXPECT_EQ(members.opened, 1);
  ASSERT_TRUE(b->position().set_epoch(4).ok());
  b->position_changed();
  ASSERT_TRUE(Members::next(*b));
  EXPECT_EQ(members.opened, 2);
  EXPECT_EQ(a->shares(), "");
  ASSERT_TRUE(a->position().set_epoch(4).ok());
  a->position_changed();
  EXPECT_EQ(Members::next(*a)->epoch, 4);
  EXPECT_EQ(members.opened, 2) << "it has joined the other one";
  EXPECT_EQ(a->shares(), "batches, with 1 others");
}

TEST(TogetherFeed, ends_an_epoch_after_its_last_batch_and_all_after_the_last_one) {
  Members members;
  members.options.epochs = 2;
  const auto feed = members.add();
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 15; ++i) EXPECT_EQ(Members::next(*feed)->epoch, epoch);
    EXPECT_FALSE(Members::next(*feed));
  }
  EXPECT_TRUE(feed->position().finished());
  EXPECT_FALSE(Members::next(*feed));
}

TEST(TogetherFeed, a_changed_position_drops_the_end_of_the_epoch_that_was_left) {
  Members members;
  const auto feed = members.add();
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(Members::next(*feed));
  ASSERT_TRUE(feed->position().set_epoch(7).ok());
  feed->position_changed();
  EXPECT_EQ(Members::next(*feed)->epoch, 7);
}

TEST(TogetherFeed, counts_on_when_it_changes_runs) {
  Members members;
  const auto feed = members.add();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Members::next(*feed));
  for (int64_t epoch = 1; epoch < 5; ++epoch) {
    const Ledger before = feed->stats();
    ASSERT_TRUE(feed->position().set_epoch(epoch).ok());
    feed->position_changed();
    ASSERT_TRUE(Members::next(*feed));
    EXPECT_GT(feed->stats().batches, before.batches);
    EXPECT_GT(feed->stats().samples, before.samples);
  }
  EXPECT_EQ(members.opened, 5);
}

TEST(TogetherFeed, a_run_that_cannot_be_opened_is_the_error_of_its_member) {
  const Data data;
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::minutes(5));
  const auto feed = together_feed(
      std::move(*Loader::open(data.pipeline())), runs, "key", 1,
      [](const std::stop_token&) -> Result<std::shared_ptr<Loader>> { return not_found("gone"); }, std::stop_token());
  EXPECT_EQ(feed.status().code(), Code::kNotFound);
}

TEST(TogetherFeed, a_stop_ends_the_search_for_the_first_seat) {
  const Data data;
  const auto runs = std::make_shared<TogetherRuns>(std::chrono::minutes(5));
  Gate gate;
  std::stop_source stop;
  const auto feed = together_feed(
      std::move(*Loader::open(data.pipeline())), runs, "key", 1,
      [&](const std::stop_token& ends) -> Result<std::shared_ptr<Loader>> {
        stop.request_stop();  // while it opens
        (void)gate.wait(ends);
        return cancelled("stopped");
      },
      stop.get_token());
  EXPECT_EQ(feed.status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace forebay
