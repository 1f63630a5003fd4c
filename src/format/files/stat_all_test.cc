#include "format/files/stat_all.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "forebay/stats/store.h"
#include "store/local/local_store.h"
#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

std::string numbered(int64_t i) { return fmt::format("k{}", i); }

/// Holds its answers until a number of requests have come, then gives all from its own thread, last
/// one first.
class LateStore final : public Store {
 public:
  explicit LateStore(size_t wait_for) : wait_for_(wait_for) {}
  void read(const ReadRequest&, std::stop_token, ReadDone done) override { done(unavailable("no reads here")); }
  void list(const ListRequest&, std::stop_token, ListDone done) override { done(unavailable("no listings here")); }
  void stat(const std::string& key, std::stop_token, StatDone done) override {
    Waiting all;
    {
      const std::lock_guard lock(mutex_);
      ++asked;
      waiting_.emplace_back(key, std::move(done));
      most = std::max(most, waiting_.size());
      if (waiting_.size() < wait_for_ && !gone_) return;
      std::swap(all, waiting_);
    }
    threads_.emplace_back([all = std::move(all), this] { answer(all); });
  }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  size_t most = 0;
  int asked = 0;
  uint64_t fails_at = UINT64_MAX;

 private:
  using Waiting = std::vector<std::pair<std::string, StatDone>>;
  void answer(const Waiting& all) {
    for (size_t i = all.size(); i-- > 0;) {
      const uint64_t number = std::stoull(all[i].first.substr(1));
      if (number == fails_at) {
        fail(all[i].second);
      } else if (number % 7 == 3) {
        all[i].second(not_found("no such object"));
      } else {
        all[i].second(ObjectInfo{all[i].first, number * 10, number});
      }
    }
  }
  /// From here on answers are not held until more requests come.
  void fail(const StatDone& failing) {
    failing(unavailable("the store is gone"));
    Waiting rest;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      std::swap(rest, waiting_);
    }
    answer(rest);
  }

  const size_t wait_for_;
  bool gone_ = false;
  std::mutex mutex_;
  Waiting waiting_;
  std::vector<std::jthread> threads_;
};

TEST(StatAll, EveryObjectIsToldOnceWithWhatTheStoreSaysWhateverTheOrder) {
  LateStore store(64);
  std::map<int64_t, uint64_t> sizes;
  std::set<int64_t> missing;
  const Status status = stat_all(store, 640, numbered, {}, [&](int64_t i, const ObjectInfo* info) {
    const bool first = info != nullptr ? sizes.emplace(i, info->size).second : missing.insert(i).second;
    EXPECT_TRUE(first) << i;
  });
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(store.most, 64u) << "many are asked for at a time, and no more";
  EXPECT_EQ(sizes.size() + missing.size(), 640u);
  for (const auto& [i, size] : sizes) EXPECT_EQ(size, static_cast<uint64_t>(i) * 10);
  for (const int64_t i : missing) EXPECT_EQ(i % 7, 3);
}

TEST(StatAll, AfterAFailureNothingMoreIsAskedAndNothingIsInFlight) {
  LateStore store(64);
  store.fails_at = 70;
  int told = 0;
  const Status status = stat_all(store, 100'000, numbered, {}, [&](int64_t, const ObjectInfo*) { ++told; });
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "the store is gone");
  EXPECT_LT(store.asked, 3 * 64);
  EXPECT_EQ(told, store.asked - 1) << "what was on its way is still told";
}

/// One answer is an error; the others come when they are no longer needed.
class DeafStore final : public Store {
 public:
  void read(const ReadRequest&, std::stop_token, ReadDone done) override { done(unavailable("no reads here")); }
  void list(const ListRequest&, std::stop_token, ListDone done) override { done(unavailable("no listings here")); }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    if (key == "k9") return done(unavailable("the store is gone"));
    stops_.push_back(std::make_unique<Stop>(std::move(stop), [done] { done(Status(Code::kCancelled, "stopped")); }));
  }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

 private:
  using Stop = std::stop_callback<std::function<void()>>;
  std::vector<std::unique_ptr<Stop>> stops_;
};

TEST(StatAll, WhatNobodyWantsAnyMoreBehindAFailureIsNotWaitedFor) {
  DeafStore store;
  const Status status = stat_all(store, 100, numbered, {}, [](int64_t, const ObjectInfo*) { ADD_FAILURE(); });
  EXPECT_EQ(status.message(), "the store is gone");
}

TEST(StatAll, ThereMayBeNothingToAsk) {
  const auto none = [](int64_t, const ObjectInfo*) { ADD_FAILURE(); };
  EXPECT_TRUE(stat_all(*memory_store(), 0, numbered, {}, none).ok());
}

TEST(StatAll, AStopEndsItWithTheCodeOfAStop) {
  std::stop_source stopped;
  stopped.request_stop();
  const auto store = memory_store();
  store->put("k0", "x");
  EXPECT_EQ(stat_all(*store, 3, numbered, stopped.get_token(), [](int64_t, const ObjectInfo*) {}).code(),
            Code::kCancelled);
}

TEST(NearestFolder, IsTheLongestPartOfAPathThatExists) {
  const auto store = memory_store();
  store->put("a/b/c.txt", "x");
  store->put("ab/c", "x");
  const std::pair<const char*, const char*> cases[] = {
      {"a/b/none.txt", "memory:a/b/"}, {"a/b/c/d/e", "memory:a/b/"}, {"a/bc/d", "memory:a/"}, {"a//x", "memory:a/"},
      {"none/x", "memory:"},           {"none", "memory:"},          {"", "memory:"},         {"a/b/", "memory:a/"},
  };
  for (const auto& [path, folder] : cases) EXPECT_EQ(nearest_folder(*store, path), folder) << path;
  ScratchFolder scratch;
  scratch.write("d/x", "1");
  const auto local = local_store("");
  EXPECT_EQ(nearest_folder(*local, scratch.path("d/none/more/x")), scratch.path("d/"));
  EXPECT_EQ(nearest_folder(*local, "/no-such-folder-at-all/x"), "/");
  EXPECT_EQ(nearest_folder(*local, "no-such-folder-at-all/x"), ".") << "where one is";
}

}  // namespace
}  // namespace forebay
