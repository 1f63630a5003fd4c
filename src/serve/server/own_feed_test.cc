#include "serve/server/own_feed.h"

#include <gtest/gtest.h>

#include <future>

#include "forebay/ledger.h"
#include "serve/server/carried_counters.h"
#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;

TEST(OwnFeed, totals_go_on_with_another_loader) {
  const Data data;
  const FindSuccessor better = [&](uint64_t* seen) -> OpenSuccessor {
    if ((*seen)++ > 0) return {};
    return [&](const std::stop_token&) -> Result<Successor> {
      FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(data.pipeline()));
      return Successor{std::move(loader), "a cache"};
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

/// A feed whose successor is opened when the test says so.
struct Succession {
  explicit Succession(OpenSuccessor open) : feed(own_feed(std::move(*Loader::open(data.pipeline())), once(open))) {}
  // The successor is opened once, before the first batch.
  static FindSuccessor once(OpenSuccessor open) {
    return
        [open = std::move(open)](uint64_t* seen) -> OpenSuccessor { return (*seen)++ == 0 ? open : OpenSuccessor(); };
  }
  std::optional<Batch> next() {
    bool timed_out = true;
    Result<std::optional<Batch>> batch = std::optional<Batch>();
    while (batch.ok() && timed_out) batch = feed->next_for(std::chrono::seconds(10), &timed_out);
    EXPECT_TRUE(batch.ok()) << batch.status().to_string();
    return batch.ok() ? std::move(*batch) : std::nullopt;
  }

  Data data;
  std::unique_ptr<Feed> feed;
};

TEST(OwnFeed, goes_on_with_its_loader_if_another_one_cannot_be_opened) {
  std::promise<void> opened;
  Succession succession([&](const std::stop_token&) -> Result<Successor> {
    opened.set_value();
    return not_found("gone");
  });
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 15; ++i) EXPECT_EQ(succession.next()->epoch, epoch);
    EXPECT_FALSE(succession.next());
  }
  opened.get_future().wait();
  EXPECT_EQ(succession.feed->shares(), "");
}

TEST(OwnFeed, keeps_its_loader_as_long_as_it_must) {
  std::promise<void> opened;
  Succession* raw = nullptr;
  Succession succession([&](const std::stop_token&) -> Result<Successor> {
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(raw->data.pipeline()));
    opened.set_value();
    return Successor{std::move(loader), "a cache"};
  });
  raw = &succession;
  succession.feed->pin_loader();
  ASSERT_TRUE(succession.next());
  opened.get_future().wait();
  for (int i = 0; i < 30; ++i) (void)succession.next();
  EXPECT_EQ(succession.feed->shares(), "");
  succession.feed->unpin_loader();
  EXPECT_TRUE(eventually([&] {
    (void)succession.next();
    return succession.feed->shares() == "a cache";
  }));
}

TEST(OwnFeed, gives_the_same_batches_whenever_the_loader_changes) {
  Succession* raw = nullptr;
  Succession succession([&](const std::stop_token&) -> Result<Successor> {
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(raw->data.pipeline()));
    return Successor{std::move(loader), "a cache"};
  });
  raw = &succession;
  const auto expected = std::move(*Loader::open(succession.data.pipeline()));
  for (int i = 0; i < 64 || succession.feed->shares().empty(); ++i) {
    const std::optional<Batch> batch = succession.next(), should = std::move(*expected->next());
    ASSERT_EQ(batch.has_value(), should.has_value()) << i;
    if (batch) {
      ASSERT_EQ(batch->ids, should->ids) << i;
    }
  }
}

TEST(OwnFeed, closing_ends_the_opening_of_another_loader) {
  std::promise<void> opens;
  Succession succession([&](const std::stop_token& stop) -> Result<Successor> {
    std::promise<void> stopped;
    const std::stop_callback tells(stop, [&] { stopped.set_value(); });
    opens.set_value();
    stopped.get_future().wait();
    return cancelled("stopped");
  });
  ASSERT_TRUE(succession.next());
  opens.get_future().wait();
  succession.feed->close();
  bool timed_out = false;
  EXPECT_FALSE(succession.feed->next_for(std::chrono::seconds(10), &timed_out).ok());
}

TEST(OwnFeed, asks_for_a_successor_again_when_clients_have_come) {
  const Data data;
  uint64_t version = 0;
  std::vector<uint64_t> seen_versions;
  const auto feed = own_feed(std::move(*Loader::open(data.pipeline())), [&](uint64_t* seen) -> OpenSuccessor {
    if (*seen != version) seen_versions.push_back(version);
    *seen = version;
    return {};
  });
  bool timed_out = false;
  for (version = 1; version <= 3; ++version) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(feed->next_for(std::chrono::minutes(1), &timed_out).ok());
  }
  EXPECT_EQ(seen_versions, (std::vector<uint64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace forebay
