#include "format/files/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "forebay/stats/store.h"
#include "store/memory/memory_store.h"
#include "store/slow/slow_store.h"

namespace forebay {
namespace {

/// A memory store with short pages, which can be set to fail.
class PagedStore final : public Store {
 public:
  PagedStore(std::shared_ptr<MemoryStore> inner, uint32_t page) : inner_(std::move(inner)), page_(page) {}
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    inner_->read(request, std::move(stop), std::move(done));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    ++listings;
    if (request.prefix == fails_in) return done(unavailable("cannot be listed now").with_key(request.prefix));
    ListRequest page = request;
    page.max_keys = page_;
    inner_->list(page, std::move(stop), std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    inner_->stat(key, std::move(stop), std::move(done));
  }
  ListingTraits listing() const override { return traits; }
  std::string display_name(const std::string& key) const override { return inner_->display_name(key); }
  StoreStats stats() const override { return {}; }

  std::string fails_in = "nowhere";
  ListingTraits traits = {};
  std::atomic<int> listings{0};

 private:
  const std::shared_ptr<MemoryStore> inner_;
  const uint32_t page_;
};

std::shared_ptr<MemoryStore> tree(int folders, int files) {
  auto store = memory_store();
  for (int folder = 0; folder < folders; ++folder) {
    for (int file = 0; file < files; ++file) store->put(fmt::format("t/f{}/g{}/{}.x", folder, folder, file), "x");
  }
  return store;
}

struct Walked {
  Status status;
  std::vector<std::string> keys;
};

Walked walked(Store& store, const std::string& prefix, std::stop_token stop = {}) {
  Walked all;
  std::atomic<int> inside{0};
  all.status = walk(store, prefix, std::move(stop), [&](const std::string& folder, ListPage& page) {
    EXPECT_EQ(++inside, 1) << "one call at a time";
    for (const ObjectInfo& object : page.objects) {
      EXPECT_EQ(object.key.substr(0, object.key.rfind('/') + 1), folder);
      all.keys.push_back(object.key);
    }
    for (const std::string& below : page.prefixes) EXPECT_TRUE(below.starts_with(folder) && below.ends_with('/'));
    --inside;
  });
  std::ranges::sort(all.keys);
  return all;
}

TEST(Walk, EveryObjectIsGivenOnceWhateverThePagesAndHoweverManyListingsThereMayBe) {
  const auto inner = tree(5, 23);
  for (const bool in_ranges : {false, true}) {
    for (const size_t at_once : {1, 2, 50}) {
      for (const uint32_t page : {1, 2, 7, 1000}) {
        PagedStore store(inner, page);
        store.traits = {.in_ranges = in_ranges, .at_once = at_once};
        const Walked all = walked(store, "t/");
        ASSERT_TRUE(all.status.ok()) << all.status.to_string();
        EXPECT_EQ(all.keys.size(), 115u) << page;
        EXPECT_EQ(std::ranges::adjacent_find(all.keys), all.keys.end()) << page;
        EXPECT_EQ(walked(store, "t/f3/").keys.size(), 23u);
      }
    }
  }
}

TEST(Walk, FoldersThatAreDroppedAreNotAskedFor) {
  PagedStore store(tree(10, 3), 1000);
  size_t found = 0;
  const Status status = walk(store, "t/", {}, [&](const std::string&, ListPage& page) {
    found += page.objects.size();
    std::erase_if(page.prefixes, [](const std::string& below) { return !below.starts_with("t/f1/"); });
  });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(found, 3u);
  EXPECT_EQ(store.listings, 3) << "t/, t/f1/ and t/f1/g1/";
}

TEST(Walk, OneFolderThatCannotBeListedIsTheErrorAndNoPageComesAfterIt) {
  for (const double latency_ms : {0.0, 0.1}) {
    auto paged = std::make_shared<PagedStore>(tree(20, 3), 2);
    paged->fails_in = "t/f7/g7/";
    paged->traits = {.in_ranges = false, .at_once = 8};
    const auto store = slow_store(paged, {.seed = 3, .latency_ms = latency_ms, .jitter_ms = latency_ms});
    const Walked all = walked(*store, "t/");
    EXPECT_EQ(all.status.code(), Code::kUnavailable);
    EXPECT_EQ(all.status.key(), "t/f7/g7/");
    EXPECT_LT(all.keys.size(), 60u);
  }
}

/// One folder fails from its own thread once another one is being listed, so that the walk waits or
/// is about to. That other one answers only when it is stopped.
class HangingStore final : public Store {
 public:
  void read(const ReadRequest&, std::stop_token, ReadDone done) override { done(unavailable("no reads here")); }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    if (request.prefix == "t/") {
      ListPage page;
      page.prefixes = {"t/fails/", "t/hangs/"};
      return done(std::move(page));
    }
    if (request.prefix == "t/fails/") {
      threads_.emplace_back([this, done = std::move(done)] {
        hangs.get_future().wait();
        done(unavailable("cannot be listed now"));
      });
      return;
    }
    threads_.emplace_back([this, stop = std::move(stop), done = std::move(done)] {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any never;
      hangs.set_value();
      never.wait_for(lock, stop, std::chrono::seconds(20), [] { return false; });
      stopped = stop.stop_requested();
      done(cancelled("stopped"));
    });
  }
  void stat(const std::string&, std::stop_token, StatDone done) override { done(unavailable("none here")); }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  std::promise<void> hangs;
  std::atomic<bool> stopped{false};

 private:
  std::vector<std::jthread> threads_;
};

TEST(Walk, AnErrorThatComesWhileItWaitsStopsTheListingsInFlight) {
  HangingStore store;
  const Walked none = walked(store, "t/");
  EXPECT_EQ(none.status.code(), Code::kUnavailable) << none.status.to_string();
  EXPECT_TRUE(store.stopped) << "it was waited for";
}

// The clock does not advance, so only the stop can end the walk.
TEST(Walk, AStopEndsAWalkThatWaits) {
  const auto store = slow_store(tree(5, 3), {.latency_ms = 1, .manual_clock = true});
  std::stop_source stop;
  std::jthread stopper([&] {
    while (store->stats().in_flight == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const Walked none = walked(*store, "t/", stop.get_token());
  EXPECT_EQ(none.status.code(), Code::kCancelled);
  EXPECT_TRUE(none.keys.empty());
}

TEST(Walk, AFolderThatIsNotThereIsToldUnlessItIsTheWholeStore) {
  const auto store = tree(1, 1);
  const Walked gone = walked(*store, "none/");
  EXPECT_EQ(gone.status.code(), Code::kNotFound);
  EXPECT_EQ(gone.status.key(), "memory:none/");
  EXPECT_EQ(walked(*store, "").keys.size(), 1u);
  const Walked empty = walked(*memory_store(), "");
  EXPECT_TRUE(empty.keys.empty());
}

}  // namespace
}  // namespace forebay
