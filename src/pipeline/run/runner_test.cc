#include "pipeline/run/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/eventually_test_support.h"
#include "forebay/stats/store.h"
#include "pipeline/run/runner_test_support.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

TEST(Runner, same_bytes_for_any_threads_window_requests_memory_and_store) {
  const std::vector<uint64_t> sizes = mixed_sizes(100);
  Rig reference;
  reference.sizes = sizes;
  const Outcome expected = drain(*reference.run());
  ASSERT_EQ(expected.ids.size(), 100u);
  std::vector<int64_t> sorted = expected.ids;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t id = 0; id < 100; ++id) ASSERT_EQ(sorted[static_cast<size_t>(id)], id);
  for (size_t i = 0; i < 100; ++i) ASSERT_EQ(expected.labels[i], 10 * expected.ids[i]);
  for (const int threads : {1, 2, 8}) {
    for (const int requests : {1, 64}) {
      for (const uint64_t memory : {uint64_t{6000}, uint64_t{64} << 20}) {
        for (const bool slow : {false, true}) {
          Rig setup;
          setup.sizes = sizes;
          if (slow) setup.store = jittery(sizes, static_cast<uint64_t>(threads));
          setup.options = {.threads = threads,
                           .requests = requests,
                           .window_batches = threads,
                           .memory = {.share = {.wanted = memory}}};
          const auto runner = setup.run();
          const Outcome outcome = drain(*runner);
          EXPECT_EQ(outcome.raised, std::vector<std::string>());
          EXPECT_EQ(outcome.digest, expected.digest)
              << threads << " threads, " << requests << " requests, " << memory << " bytes, slow " << slow;
          EXPECT_LE(runner->stats().memory.peak, memory);
          runner->close();
        }
      }
    }
  }
}

TEST(Runner, an_error_stands_in_the_place_of_its_batch_and_the_next_one_follows) {
  Rig setup;
  setup.shuffled = false;
  setup.ops = {{"summary", summary({0, 3, 17})}};
  for (const int threads : {1, 4}) {
    setup.options.threads = threads;
    const Outcome outcome = drain(*setup.run());
    EXPECT_EQ(outcome.raised, (std::vector<std::string>{"Corrupt: object 0: summary: made to fail (sample 0)",
                                                        "Corrupt: object 17: summary: made to fail (sample 17)"}));
    EXPECT_EQ(outcome.ids.size(), 50u - 16u);
    EXPECT_EQ(outcome.ids.front(), 8);
  }
}

TEST(Runner, skipped_samples_leave_no_gap) {
  std::optional<Outcome> first;
  for (const int threads : {1, 3, 8}) {
    Rig setup;
    setup.ops = {{"summary", summary({0, 3, 17, 18, 19})}};
    setup.options.threads = threads;
    setup.options.bad_sample = BadSample::kSkip;
    const Outcome outcome = drain(*setup.run());
    EXPECT_EQ(outcome.batches, 7);
    EXPECT_EQ(outcome.ids.size(), 45u);
    EXPECT_EQ(outcome.told.size(), 5u);
    for (size_t i = 0; i < outcome.ids.size(); ++i) ASSERT_EQ(outcome.labels[i], 10 * outcome.ids[i]);
    if (!first) first = outcome;
    EXPECT_EQ(outcome.digest, first->digest);
    EXPECT_EQ(outcome.told, first->told);
  }
}

TEST(Runner, a_batch_of_bad_samples_is_empty_and_still_a_step) {
  Rig setup;
  setup.sizes.resize(16);
  setup.shuffled = false;
  setup.ops = {{"summary", summary({0, 1, 2, 3, 4, 5, 6, 7})}};
  setup.options.bad_sample = BadSample::kSkip;
  const auto runner = setup.run();
  const Result<Runner::Delivery> empty = runner->next_for(20s);
  ASSERT_TRUE(empty.ok() && empty->batch);
  EXPECT_EQ(empty->batch->size(), 0);
  EXPECT_EQ(empty->batch->find("bytes")->values.shape, (Shape{0, 2}));
  EXPECT_EQ(empty->errors.size(), 8u);
  EXPECT_EQ(runner->next_for(20s)->batch->size(), 8);
}

TEST(Runner, replacements_are_the_same_for_any_thread_count) {
  std::optional<Outcome> first;
  for (const int threads : {1, 3, 8}) {
    for (const bool slow : {false, true}) {
      Rig setup;
      std::set<int64_t> bad;
      for (int64_t id = 0; id < 50; id += 2) bad.insert(id);
      setup.ops = {{"summary", summary(bad)}};
      if (slow) setup.store = jittery(setup.sizes, static_cast<uint64_t>(threads));
      setup.options.threads = threads;
      setup.options.bad_sample = BadSample::kReplace;
      const Outcome outcome = drain(*setup.run());
      EXPECT_EQ(outcome.ids.size(), 50u);
      for (const int64_t id : outcome.ids) EXPECT_FALSE(bad.contains(id));
      for (size_t i = 0; i < outcome.ids.size(); ++i) ASSERT_EQ(outcome.labels[i], 10 * outcome.ids[i]);
      EXPECT_GE(outcome.told.size(), bad.size());
      if (!first) first = outcome;
      EXPECT_EQ(outcome.digest, first->digest);
      EXPECT_EQ(outcome.told, first->told);
    }
  }
}

TEST(Runner, when_no_replacement_is_good_the_last_error_is_raised) {
  for (const size_t n : {size_t{1}, size_t{2}, size_t{40}, size_t{300}}) {
    Rig setup;
    setup.sizes.assign(n, 10);
    setup.batch = 1;
    std::set<int64_t> all;
    for (size_t id = 0; id < n; ++id) all.insert(static_cast<int64_t>(id));
    setup.ops = {{"summary", summary(all)}};
    setup.options.bad_sample = BadSample::kReplace;
    const auto runner = setup.run();
    const Result<Runner::Delivery> delivery = runner->next_for(20s);
    EXPECT_EQ(delivery.status().code(), Code::kCorrupt) << n;
    EXPECT_NE(runner->cursor(), Cursor()) << "the batch is left behind";
  }
}

TEST(Runner, transient_errors_are_not_a_matter_of_policy_and_the_batch_can_be_asked_for_again) {
  for (const BadSample policy : {BadSample::kRaise, BadSample::kSkip, BadSample::kReplace}) {
    Rig setup;
    setup.store = slow_store(Objects::store_of(setup.sizes), {.seed = 3, .error_rate = 0.2});
    setup.options.bad_sample = policy;
    const auto runner = setup.run();
    int64_t unavailable = 0, batches = 0;
    std::vector<int64_t> ids;
    while (batches < 7 && unavailable < 1000) {
      const Result<Runner::Delivery> delivery = runner->next_for(20s);
      if (!delivery.ok()) {
        ASSERT_EQ(delivery.status().code(), Code::kUnavailable) << delivery.status().to_string();
        EXPECT_NE(delivery.status().key(), "");
        ++unavailable;
        continue;
      }
      ASSERT_TRUE(delivery->batch);
      ids.insert(ids.end(), delivery->batch->ids.begin(), delivery->batch->ids.end());
      ++batches;
    }
    EXPECT_GT(unavailable, 0);
    Rig calm;
    EXPECT_EQ(ids, drain(*calm.run()).ids);
  }
}

TEST(Runner, rows_that_do_not_go_together_are_an_error_of_their_batch) {
  Rig setup = padded(1 << 20);
  setup.change_plan = nullptr;
  setup.ops = {{"rows", [](Record& record, const SampleContext& context) -> Status {
                  record[0] = Value::of(Tensor::allocate(context.key.id == 5 ? DType::kInt64 : DType::kUint8, {2}));
                  return {};
                }}};
  const auto runner = setup.run();
  const Result<Runner::Delivery> delivery = runner->next_for(20s);
  ASSERT_EQ(delivery.status().code(), Code::kInvalidArgument);
  EXPECT_NE(delivery.status().message().find("'bytes'"), std::string::npos);
}

TEST(Runner, an_operator_that_throws_is_an_internal_error_and_no_crash) {
  Rig setup;
  setup.ops = {
      {"throws", [](Record&, const SampleContext&) -> Status { throw std::runtime_error("thrown on purpose"); }}};
  const auto runner = setup.run();
  const Result<Runner::Delivery> delivery = runner->next_for(20s);
  EXPECT_EQ(delivery.status().code(), Code::kInternal);
  EXPECT_NE(delivery.status().message().find("thrown on purpose"), std::string::npos);
}

TEST(Runner, a_long_wait_is_logged_once_with_what_is_awaited) {
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_sink([&](const std::string& line) {
    std::lock_guard lock(mutex);
    lines.push_back(line);
  });
  Rig setup;
  setup.shuffled = false;
  auto slow = slow_store(Objects::store_of(setup.sizes), {.latency_ms = 1, .manual_clock = true});
  setup.store = slow;
  setup.options.long_wait = 30ms;
  setup.epochs = 2;
  const auto runner = setup.run();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(runner->next_for(10ms)->timed_out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("waiting for storage to give 'object 0'"), std::string::npos) << lines[0];
  std::atomic<bool> over = false;
  std::thread clock([&] {
    while (!over) {
      slow->advance(1ms);
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(runner->next_for(20s)->batch);
  over = true;
  clock.join();
  runner->close();
  EXPECT_EQ(lines.size(), 1u);
  set_log_sink([](const std::string& line) { std::fprintf(stderr, "forebay: %s\n", line.c_str()); });
}

// A store like the page cache: some keys can be read at once, and others have to be waited for.
class HalfCold final : public Store {
 public:
  explicit HalfCold(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    ++waited;
    inner_->read(request, stop, std::move(done));
  }
  bool reads_now() const override { return reads_now_; }
  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override {
    if (hash128(request.key).low % 2 == 0) return std::nullopt;
    ++at_once;
    return inner_->read_now(request);
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    inner_->list(request, stop, std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    inner_->stat(key, stop, std::move(done));
  }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  std::atomic<int> waited = 0, at_once = 0;
  bool reads_now_ = true;

 private:
  const std::shared_ptr<Store> inner_;
};

TEST(Runner, cold_objects_are_read_without_holding_a_compute_thread) {
  Rig warm;
  warm.sizes = mixed_sizes(200);
  const Outcome expected = drain(*warm.run());
  for (const int requests : {1, 16}) {
    Rig setup;
    setup.sizes = warm.sizes;
    const auto store = std::make_shared<HalfCold>(jittery(setup.sizes));
    const auto half = std::make_shared<HalfCold>(Objects::store_of(setup.sizes));
    for (const auto& each : {store, half}) {
      setup.store = each;
      setup.options.requests = requests;
      const Outcome outcome = drain(*setup.run());
      EXPECT_EQ(outcome.raised, std::vector<std::string>());
      EXPECT_EQ(outcome.digest, expected.digest);
      EXPECT_GT(each->waited, 0);
    }
    EXPECT_GT(half->at_once, 0);
  }
}

TEST(Runner, a_store_that_answers_at_once_does_not_nest) {
  Rig setup;
  setup.sizes.assign(60'000, 8);
  setup.batch = 20'000;
  const auto store = std::make_shared<HalfCold>(Objects::store_of(setup.sizes));
  store->reads_now_ = false;
  setup.store = store;
  const Outcome outcome = drain(*setup.run());
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.ids.size(), 60'000u);
}

TEST(Runner, seek_goes_anywhere_and_gives_what_a_straight_run_gives) {
  Rig setup;
  setup.epochs = std::nullopt;
  setup.store = jittery(setup.sizes);
  const auto straight = setup.run();
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> expected;
  for (int i = 0; i < 21; ++i) {
    const Cursor at = straight->cursor();
    expected[{at.epoch, at.position}] = straight->next_for(20s)->batch->ids;
  }
  const auto runner = setup.run();
  uint64_t draw = 1;
  for (int i = 0; i < 60; ++i) {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    auto where = expected.begin();
    std::advance(where, (draw >> 33) % expected.size());
    runner->seek({where->first.first, where->first.second, where->first.second / 8});
    if (i % 3 == 0) continue;  // seeks again without taking a batch
    EXPECT_EQ(runner->next_for(20s)->batch->ids, where->second);
  }
  runner->close();
  const ByteBudget::Snapshot memory = runner->stats().memory;
  EXPECT_EQ(memory.used, 0u) << "everything has been given back";
}

TEST(Runner, close_ends_a_wait_and_may_come_twice) {
  Rig setup;
  setup.store = slow_store(Objects::store_of(setup.sizes), {.latency_ms = 1, .manual_clock = true});
  const auto runner = setup.run();
  std::thread closer([&] {
    // No read is ever answered, so the caller of next_for() waits, or is about to.
    EXPECT_TRUE(eventually([&] { return setup.store->stats().in_flight > 0; }));
    runner->close();
  });
  EXPECT_EQ(runner->next_for(1h).status().code(), Code::kCancelled);
  closer.join();
  runner->close();
  EXPECT_TRUE(runner->closed());
  EXPECT_EQ(runner->next_for(1ms).status().code(), Code::kCancelled);
  EXPECT_EQ(runner->take_call(1ms), nullptr);
}

TEST(Runner, nothing_is_fetched_past_the_last_epoch) {
  Rig setup;
  setup.epochs = 2;
  setup.options.window_batches = 50;
  const auto store = std::make_shared<HalfCold>(Objects::store_of(setup.sizes));
  store->reads_now_ = false;
  setup.store = store;
  const auto runner = setup.run();
  EXPECT_EQ(drain(*runner).ids.size(), 100u);
  EXPECT_EQ(store->waited, 100);
  EXPECT_FALSE(runner->next_for(20s)->batch) << "and it stays over";
}

TEST(Runner, batches_outlive_the_runner) {
  Rig setup;
  std::vector<Batch> held;
  std::string expected;
  {
    const auto runner = setup.run();
    while (true) {
      Result<Runner::Delivery> delivery = runner->next_for(20s);
      if (!delivery->batch) break;
      held.push_back(std::move(*delivery->batch));
    }
    runner->close();
  }
  size_t rows = 0;
  for (const Batch& batch : held) {
    for (int64_t row = 0; row < batch.size(); ++row) {
      EXPECT_EQ(batch.find("label")->values.data<int64_t>()[row], 10 * batch.ids[static_cast<size_t>(row)]);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 50u);
}

}  // namespace
}  // namespace forebay
