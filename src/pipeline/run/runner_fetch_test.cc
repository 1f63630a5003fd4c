#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "forebay/stats/store.h"
#include "pipeline/run/runner.h"
#include "pipeline/run/runner_chunks_test_support.h"
#include "pipeline/run/runner_test_support.h"

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

/// A store that answers nothing before advance().
std::shared_ptr<SlowStore> far_away(const std::vector<uint64_t>& sizes) {
  return slow_store(Objects::store_of(sizes), {.latency_ms = 100, .manual_clock = true});
}

Rig far_rig(int64_t samples, int requests, bool find) {
  Rig rig;
  rig.sizes.assign(static_cast<size_t>(samples), 1000);
  rig.batch = 4;
  rig.options = {.threads = 2,
                 .requests = requests,
                 .find_requests = find,
                 .window_batches = 3,
                 .memory = {.share = {.wanted = 64 << 20}, .ahead = 32 << 20}};
  return rig;
}

TEST(RunnerFetch, as_many_requests_as_allowed_are_in_flight_however_small_the_batches) {
  for (const int requests : {1, 7, 64, 300}) {
    Rig rig = far_rig(400, requests, /*find=*/false);
    const auto store = far_away(rig.sizes);
    rig.store = store;
    const auto runner = rig.run();
    EXPECT_TRUE(runner->next_for(0ms)->timed_out);
    EXPECT_EQ(store->stats().in_flight, static_cast<uint64_t>(requests));
    store->advance(100ms);
    // Reads are replaced as their answers are processed, and never by more. A busy machine may take
    // long to make a batch.
    const auto replaced = static_cast<uint64_t>(std::min(requests, 400 - requests));
    const auto late = std::chrono::steady_clock::now() + 20s;
    while (store->stats().in_flight != replaced && std::chrono::steady_clock::now() < late) (void)runner->next_for(1ms);
    EXPECT_EQ(store->stats().in_flight, replaced);
    while (runner->next_for(10ms)->batch) {
    }
    EXPECT_EQ(store->stats().in_flight, replaced);
    runner->close();
  }
}

TEST(RunnerFetch, the_number_of_requests_is_found_where_the_store_can_tell) {
  Rig rig = far_rig(4000, 16, /*find=*/true);
  const auto store = far_away(rig.sizes);
  rig.store = store;
  const auto runner = rig.run();
  EXPECT_TRUE(runner->next_for(0ms)->timed_out);
  EXPECT_EQ(store->stats().in_flight, 64u);
  for (int i = 0; i < 40; ++i) {
    store->advance(25ms);
    while (runner->next_for(1ms)->batch) {
    }
  }
  EXPECT_GT(runner->request_limit(), 64) << "each round trip brings twice as many";
  runner->close();
}

TEST(RunnerFetch, users_of_one_store_divide_its_requests) {
  Rig rig = far_rig(4000, 16, /*find=*/true);
  rig.store = far_away(rig.sizes);
  const auto first = rig.run();
  EXPECT_EQ(first->request_limit(), 64);
  auto second = rig.run();
  EXPECT_EQ(first->request_limit(), 32);
  EXPECT_EQ(second->request_limit(), 32);
  second->close();
  second.reset();
  EXPECT_EQ(first->request_limit(), 64);
  first->close();
}

TEST(RunnerFetch, what_is_fetched_ahead_stays_within_its_bytes) {
  Rig rig = far_rig(400, 300, /*find=*/false);
  rig.options.memory.ahead = 40'500;
  const auto store = far_away(rig.sizes);
  rig.store = store;
  const auto runner = rig.run();
  EXPECT_TRUE(runner->next_for(0ms)->timed_out);
  EXPECT_EQ(store->stats().in_flight, 40u);
  runner->close();
}

TEST(RunnerFetch, a_wrong_guess_of_sizes_changes_no_byte_and_no_bound) {
  std::vector<uint64_t> sizes;
  for (int64_t i = 0; i < 100; ++i) sizes.push_back(static_cast<uint64_t>(100 + i * 37 % 5000));
  Rig known;
  known.sizes = sizes;
  const std::string expected = drain(*known.run()).digest;
  for (const uint64_t guess : {uint64_t{0}, uint64_t{1}, uint64_t{2500}, uint64_t{1} << 20}) {
    for (const bool slow : {false, true}) {
      for (const uint64_t memory : {uint64_t{6000}, uint64_t{64} << 20}) {
        Rig rig;
        rig.sizes = sizes;
        rig.guessed_size = std::min(guess, memory / 2);
        rig.store = Objects::store_of(sizes);
        if (slow) rig.store = slow_store(rig.store, {.latency_ms = 0.1, .jitter_ms = 2});
        rig.options = {.threads = 2, .requests = 16, .memory = {.share = {.wanted = memory}, .ahead = memory / 2}};
        const auto runner = rig.run();
        const Outcome outcome = drain(*runner);
        EXPECT_EQ(outcome.raised, std::vector<std::string>());
        EXPECT_EQ(outcome.digest, expected) << "guess " << guess << ", memory " << memory << ", slow " << slow;
        EXPECT_LE(runner->stats().memory.peak, memory);
        runner->close();
      }
    }
  }
}

// Before the first answer, sizes of objects in lists of addresses are guesses. So are those of rare
// large objects later.
TEST(RunnerFetch, objects_larger_than_their_guess_are_read_once_where_there_is_memory) {
  for (const uint64_t ahead_bytes : {uint64_t{32} << 20, uint64_t{0}}) {
    Rig rig;
    rig.sizes = std::vector<uint64_t>(40, 300'000);
    rig.guessed_size = 500;
    rig.store = slow_store(Objects::store_of(rig.sizes), {.latency_ms = 0.1, .jitter_ms = 1});
    rig.options = {
        .threads = 2, .requests = 16, .memory = {.share = {.wanted = uint64_t{64} << 20}, .ahead = ahead_bytes}};
    const auto runner = rig.run();
    EXPECT_EQ(drain(*runner).ids.size(), 40u);
    EXPECT_LE(runner->stats().memory.peak, rig.options.memory.share.wanted);
    EXPECT_EQ(rig.store->stats().requests, 40u);
    runner->close();
  }
}

TEST(RunnerFetch, objects_larger_than_their_guess_are_read_twice_at_most_where_there_is_little_memory) {
  for (int round = 0; round < 5; ++round) {
    Rig rig;
    rig.sizes = std::vector<uint64_t>(40, 300'000);
    rig.guessed_size = 500;
    rig.store = slow_store(Objects::store_of(rig.sizes), {.latency_ms = 0.1, .jitter_ms = 1});
    rig.options = {.threads = 2, .requests = 16, .memory = {.share = {.wanted = uint64_t{4} << 20}}};
    const auto runner = rig.run();
    EXPECT_EQ(drain(*runner).ids.size(), 40u);
    EXPECT_LE(runner->stats().memory.peak, rig.options.memory.share.wanted);
    EXPECT_LE(rig.store->stats().requests, 80u);
    runner->close();
  }
}

/// Samples that are lists of objects: all but the last object is small. No size is known.
class ListsOfObjects final : public SampleSource {
 public:
  ListsOfObjects(std::shared_ptr<Store> store, int64_t objects, uint64_t guess)
      : store_(std::move(store)), objects_(objects), all_(store_, std::vector<uint64_t>(1), guess) {}
  const Schema& schema() const override { return all_.schema(); }
  int64_t size() const override { return 1; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return all_.key(id); }
  Fetch fetch(int64_t) const override {
    Fetch list = all_.fetch(0);
    for (int64_t i = 1; i < objects_; ++i) list.others.push_back(all_.fetch(i));
    return list;
  }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    return all_.load(id, std::move(fetched), record);
  }
  Status load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const override {
    sizes_.clear();
    for (const Buffer& bytes : fetched) sizes_.push_back(bytes.size());
    return load(id, fetched.back(), record);
  }
  const std::vector<uint64_t>& sizes() const { return sizes_; }

 private:
  const std::shared_ptr<Store> store_;
  const int64_t objects_;
  const Objects all_;
  mutable std::vector<uint64_t> sizes_;
};

/// Reads from another store. Derived classes change the reads.
class OtherReads : public Store {
 public:
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    inner_->list(request, std::move(stop), std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    inner_->stat(key, std::move(stop), std::move(done));
  }
  std::string display_name(const std::string& key) const override { return inner_->display_name(key); }
  StoreStats stats() const override { return inner_->stats(); }

 protected:
  explicit OtherReads(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<Store> inner_;
};

/// Refuses objects larger than what is set aside, without asking for more.
class AsksForNoMore final : public OtherReads {
 public:
  explicit AsksForNoMore(std::shared_ptr<Store> inner) : OtherReads(std::move(inner)) {}
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    ReadRequest fixed = request;
    fixed.set_aside = nullptr;
    inner_->read(fixed, std::move(stop), std::move(done));
  }
};

TEST(RunnerFetch, a_large_object_of_a_list_takes_memory_for_itself_alone) {
  constexpr int64_t kObjects = 20;
  std::vector<uint64_t> sizes(kObjects, 100);
  sizes[4] = 30'000;
  sizes[17] = 50'000;
  Rig rig;
  rig.sizes = {1};
  rig.batch = 1;
  rig.options = {.threads = 1, .requests = 4, .memory = {.share = {.wanted = 200'000}}};
  rig.store = std::make_shared<AsksForNoMore>(Objects::store_of(sizes));
  std::shared_ptr<ListsOfObjects> lists;
  rig.change_plan = [&](BranchPlan& plan) {
    plan.source = lists = std::make_shared<ListsOfObjects>(rig.store, kObjects, 500);
  };
  const auto runner = rig.run();
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.ids, std::vector<int64_t>{0});
  EXPECT_EQ(lists->sizes(), sizes);
  runner->close();
}

/// Fails the first read of one object. If `behind` is given, reads are answered at once, and that
/// object is read after the failure.
class FailsOnce final : public OtherReads {
 public:
  FailsOnce(std::shared_ptr<Store> inner, std::string key, std::string behind = "")
      : OtherReads(std::move(inner)), key_(std::move(key)), behind_(std::move(behind)) {}
  bool reads_now() const override { return !behind_.empty(); }
  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override {
    if (behind_.empty()) return std::nullopt;
    while (request.key == behind_ && !failed_) std::this_thread::yield();
    if (request.key == key_ && !failed_.exchange(true)) return unavailable("away for a moment").with_key(key_);
    return inner_->read_now(request);
  }
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    if (request.key == key_ && !failed_.exchange(true)) return done(unavailable("away for a moment").with_key(key_));
    inner_->read(request, std::move(stop), std::move(done));
  }
  bool failed() const { return failed_; }

 private:
  const std::string key_;
  const std::string behind_;
  std::atomic<bool> failed_ = false;
};

TEST(RunnerFetch, transient_errors_matter_only_to_the_batch_that_is_due) {
  for (const int64_t id : {3, 11, 30}) {  // in the first batch, in the window, after the window
    Rig rig;
    rig.shuffled = false;
    const auto store = std::make_shared<FailsOnce>(Objects::store_of(rig.sizes), Objects::key_of(id));
    rig.store = store;
    rig.options = {.threads = 2,
                   .requests = 50,
                   .window_batches = 2,
                   .memory = {.share = {.wanted = 64 << 20}, .ahead = 32 << 20}};
    const auto runner = rig.run();
    EXPECT_EQ(runner->next_for(20s).ok(), id != 3);
    const Outcome rest = drain(*runner);
    EXPECT_TRUE(store->failed());
    EXPECT_EQ(rest.raised, std::vector<std::string>());
    EXPECT_EQ(rest.ids.size(), id == 3 ? 50u : 42u) << "what failed is asked for again";
    runner->close();
  }
}

// A compute thread reads while the batch before is not done. Storage is available again by the time
// this batch is due.
TEST(RunnerFetch, what_could_not_be_read_ahead_is_read_again_when_its_batch_is_due) {
  Rig rig;
  rig.shuffled = false;
  const auto store = std::make_shared<FailsOnce>(Objects::store_of(rig.sizes), Objects::key_of(11), Objects::key_of(0));
  rig.store = store;
  rig.options = {
      .threads = 2, .requests = 50, .window_batches = 2, .memory = {.share = {.wanted = 64 << 20}, .ahead = 32 << 20}};
  const auto runner = rig.run();
  const Outcome all = drain(*runner);
  EXPECT_TRUE(store->failed());
  EXPECT_EQ(all.raised, std::vector<std::string>());
  EXPECT_EQ(all.ids.size(), 50u);
  runner->close();
}

// Each batch has some rows of a chunk, so several batches in the window find the chunk's error.
TEST(RunnerFetch, a_row_group_that_could_not_be_read_ahead_is_read_again_when_its_batch_is_due) {
  for (const bool single_rows : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      ChunkRig rig;
      rig.rows = {16, 16, 16};
      rig.batch = 4;
      rig.epochs = 1;
      rig.single_rows = single_rows;
      const auto store =
          std::make_shared<FailsOnce>(MadeChunks::store_of(3), MadeChunks::key_of(1), MadeChunks::key_of(0));
      rig.store = store;
      rig.options = {.threads = 3,
                     .requests = 4,
                     .window_batches = 8,
                     .memory = {.share = {.wanted = 64 << 20}, .ahead = 32 << 20}};
      const EqualBatches schedule({.epoch_size = 48, .batch_size = 4, .world_size = 1});
      const auto steps =
          std::make_shared<IndexedItinerary>(sequential_chunks_order(rig.rows), all_of(48), schedule, 0, rig.epochs);
      const auto runner = std::make_shared<Runner>(rig.engine, rig.plan(), steps, rig.options);
      const Outcome all = drain(*runner);
      EXPECT_TRUE(store->failed());
      EXPECT_EQ(all.raised, std::vector<std::string>()) << single_rows << ' ' << round;
      EXPECT_EQ(all.ids.size(), 48u);
      runner->close();
    }
  }
}

TEST(RunnerFetch, an_object_that_no_budget_holds_is_told_with_its_size) {
  Rig rig;
  rig.sizes = {1000, 1000, 90'000, 1000};
  rig.shuffled = false;
  rig.batch = 1;
  rig.guessed_size = 500;
  rig.options = {.threads = 1, .memory = {.share = {.wanted = 20'000}}};
  const auto runner = rig.run();
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.ids, (std::vector<int64_t>{0, 1}));
  ASSERT_EQ(outcome.raised.size(), 1u);
  EXPECT_NE(outcome.raised[0].find("OutOfBudget"), std::string::npos) << outcome.raised[0];
  EXPECT_NE(outcome.raised[0].find("90000 stored"), std::string::npos) << outcome.raised[0];
  runner->close();
}

}  // namespace
}  // namespace forebay
