#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <unordered_map>

#include "forebay/stats/store.h"
#include "format/joined/join_rows.h"
#include "format/joined/joined_samples.h"
#include "pipeline/content_keys.h"
#include "pipeline/run/runner_test_support.h"

// Tests runs with caches, in which each entry is made by one task.

namespace forebay {
namespace {

using namespace runner_test;
using std::chrono::seconds;

/// Stores entries in memory, up to a number of them.
class MapCache final : public EntryCache {
 public:
  explicit MapCache(size_t most = SIZE_MAX) : most_(most) {}
  std::optional<Found> find(const EntryRef& entry) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(entry.key.low);
    return found == entries_.end() ? std::nullopt : std::optional(Found{found->second, nullptr, {}});
  }
  bool has(const Hash128& entry) const override {
    const std::lock_guard lock(mutex_);
    return entries_.contains(entry.low);
  }
  Result<std::shared_ptr<const Columns>> open(const Hash128&, Buffer) override { return corrupt("no disk"); }
  bool try_admit(const Hash128&, uint64_t) const override { return true; }
  void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double, KeepIn) override {
    const std::lock_guard lock(mutex_);
    if (entries_.size() < most_) entries_.emplace(entry.key.low, std::move(columns));
  }
  std::shared_ptr<SingleFlight> flights() override { return flights_; }

 private:
  const size_t most_;
  const std::shared_ptr<SingleFlight> flights_ = SingleFlight::make();
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<const Columns>> entries_;
};

/// A source whose objects have known versions.
class Known final : public SampleSource {
 public:
  explicit Known(std::shared_ptr<const Source> of) : of_(std::move(of)) {}
  const Schema& schema() const override { return of_->schema(); }
  int64_t size() const override { return of_->size(); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return of_->key(id); }
  std::optional<Identity> identity(int64_t id) const override { return hash128(key(id)); }
  Fetch fetch(int64_t id) const override { return of_->as_samples()->fetch(id); }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    return of_->as_samples()->load(id, std::move(fetched), record);
  }

 private:
  const std::shared_ptr<const Source> of_;
};

/// A rig that caches the objects of a slow store and then runs `rig.ops`.
Rig keeping(const std::shared_ptr<EntryCache>& cache, int64_t objects, uint64_t seed = 1) {
  Rig rig;
  rig.sizes = mixed_sizes(objects);
  rig.store = jittery(rig.sizes, seed);
  rig.epochs = 5;
  rig.change_plan = [cache](BranchPlan& plan) {
    plan.source = std::make_shared<Known>(plan.source);
    KeyedStage stage;
    stage.cache = cache;
    stage.keys = std::make_shared<ContentKeys>(cache, plan.source, Hash128{}, plan.fetches);
    stage.flights = cache->flights();
    stage.schema = plan.source->schema();
    stage.from_before = {std::nullopt, 1};
    stage.in_entry = {true, false};
    plan.stages.insert(plan.stages.begin(), std::move(stage));
    plan.keyed = {0};
  };
  return rig;
}

uint64_t reads_of(const Rig& rig) {
  const StoreStats stats = rig.store->stats();
  return stats.requests;
}

Outcome drained(Rig& rig) { return drain(*rig.run()); }

TEST(RunnerCache, every_object_is_read_once_however_few_there_are_and_however_far_ahead_is_read) {
  for (const int64_t objects : {1, 2, 7, 30, 200}) {
    for (const int requests : {1, 4, 64}) {
      Rig without = keeping(nullptr, objects);
      without.change_plan = {};
      const auto cache = std::make_shared<MapCache>();
      Rig rig = keeping(cache, objects);
      rig.options.requests = requests;
      EXPECT_EQ(drained(rig).digest, drained(without).digest) << objects;
      EXPECT_EQ(reads_of(rig), static_cast<uint64_t>(objects)) << requests << " requests at once";
      EXPECT_EQ(cache->flights()->size(), 0u);
    }
  }
}

TEST(RunnerCache, runs_of_one_process_read_every_object_once_between_them) {
  for (const bool alike : {true, false}) {
    const auto cache = std::make_shared<MapCache>();
    const auto engine = std::make_shared<Engine>(2);
    Rig first = keeping(cache, 60);
    std::vector<Rig> rigs(4, first);
    std::vector<std::future<Outcome>> runs;
    for (size_t i = 0; i < rigs.size(); ++i) {
      rigs[i].engine = engine;
      rigs[i].shuffled = alike || i % 2 == 0;
      rigs[i].batch = alike ? 8 : 3 + static_cast<int64_t>(i);
      runs.push_back(std::async(std::launch::async, [&rig = rigs[i]] { return drained(rig); }));
    }
    for (auto& run : runs) EXPECT_EQ(run.get().ids.size(), 300u);
    EXPECT_EQ(reads_of(first), 60u) << alike;
    EXPECT_EQ(cache->flights()->size(), 0u);
  }
}

/// Two keyed stages with a counted operator between them.
TEST(RunnerCache, any_number_of_stages_keep_and_the_last_that_has_a_result_is_gone_on_from) {
  const auto first = std::make_shared<MapCache>(), second = std::make_shared<MapCache>();
  std::atomic<int> ran = 0;
  const auto rig_of = [&](bool keeps_first, bool keeps_second) {
    Rig rig = keeping(first, 30);
    rig.ops = {{"counted", [&ran](Record&, const SampleContext&) -> Status {
                  ++ran;
                  return {};
                }}};
    const auto change = rig.change_plan;
    rig.change_plan = [=](BranchPlan& plan) {
      change(plan);
      KeyedStage behind;
      behind.cache = second;
      behind.keys = std::make_shared<ContentKeys>(second, plan.source, Hash128{7, 7}, plan.fetches);
      behind.flights = second->flights();
      behind.schema = plan.source->schema();
      behind.from_before = {std::nullopt, std::nullopt};
      behind.in_entry = {true, true};
      auto& before = std::get<KeyedStage>(plan.stages[0]);
      if (!keeps_first) before.cache = nullptr;
      if (!keeps_second) behind.cache = nullptr;
      plan.stages.push_back(std::move(behind));
      plan.stages.push_back(NativeStage());  // writes the batch after all other stages
      plan.keyed = {2, 0};
    };
    return rig;
  };
  Rig plain = rig_of(false, false);
  const auto digest = drained(plain).digest;
  EXPECT_EQ(ran.exchange(0), 150);

  Rig fills_first = rig_of(true, false);
  EXPECT_EQ(drained(fills_first).digest, digest);
  EXPECT_EQ(ran.exchange(0), 150);
  EXPECT_EQ(reads_of(fills_first), 30u);

  Rig both = rig_of(true, true);
  EXPECT_EQ(drained(both).digest, digest);
  EXPECT_EQ(ran.exchange(0), 30) << "once for each sample, from what the first one has";
  EXPECT_EQ(reads_of(both), 0u);

  Rig again = rig_of(true, true);
  EXPECT_EQ(drained(again).digest, digest);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(first->flights()->size() + second->flights()->size(), 0u);
}

/// A rig of two objects a sample: that of the same number as part "b", which keeps entries as those
/// of keeping() are, and another one as part "a".
Rig keeping_a_part(const std::shared_ptr<EntryCache>& cache, int64_t objects, const std::shared_ptr<Store>& store) {
  Rig rig = keeping(cache, objects);
  rig.store = store;
  rig.ops = {{"summary", [](Record& record, const SampleContext& context) -> Status {
                Tensor made = Tensor::allocate(DType::kUint64, {2});
                for (const size_t part : {size_t{0}, size_t{1}}) {
                  const Buffer& bytes = record[2 * part].bytes;
                  made.data<uint64_t>()[part] = hash128(bytes.data(), bytes.size()).low;
                }
                Tensor label = Tensor::allocate(DType::kInt64, {});
                *label.data<int64_t>() = context.key.id;
                record.clear();
                record.push_back(Value::of(std::move(made)));
                record.push_back(Value::of(std::move(label)));
                return {};
              }}};
  rig.change_plan = [cache](BranchPlan& plan) {
    const auto own = std::make_shared<Known>(plan.source);
    std::vector<int64_t> backwards;
    for (int64_t id = own->size(); id-- > 0;) backwards.push_back(id);
    std::vector<JoinedPart> parts = {{"a", "a/", own, packed_rows(backwards)}, {"b", "b/", own}};
    plan.source = std::make_shared<JoinedSamples>(std::move(parts), own->size());
    if (!cache) return;
    KeyedStage stage;
    stage.cache = cache;
    stage.keys = std::make_shared<ContentKeys>(cache, own, Hash128{}, true);
    stage.flights = cache->flights();
    stage.schema = plan.source->schema();
    stage.part = "b";
    stage.object = 1;
    stage.from_before = {0, 1, std::nullopt, 3};
    stage.in_entry = {false, false, true, false};
    plan.stages.insert(plan.stages.begin(), std::move(stage));
    plan.keyed = {0};
  };
  return rig;
}

// The maker never goes on: its consumer may be the one that waits for this run.
TEST(RunnerCache, bytes_that_a_paused_maker_has_read_are_those_of_a_whole_sample_or_of_one_part) {
  constexpr int64_t kObjects = 20, kPaused = 7;
  for (const bool is_part : {false, true}) {
    const auto cache = std::make_shared<MapCache>();
    const std::shared_ptr<Store> store = jittery(mixed_sizes(kObjects));
    const auto rig_of = [&](const std::shared_ptr<EntryCache>& kept) {
      Rig rig = is_part ? keeping_a_part(kept, kObjects, store) : keeping(kept, kObjects);
      if (!kept && !is_part) rig.change_plan = {};
      rig.epochs = 1;
      return rig;
    };
    Rig plain = rig_of(nullptr), rig = rig_of(cache);
    const std::string expected = drained(plain).digest;
    Buffer bytes = Buffer::allocate(rig.sizes[kPaused]);
    for (size_t i = 0; i < bytes.size(); ++i) bytes.data()[i] = static_cast<uint8_t>(kPaused * 7 + i);
    const auto flight = cache->flights()->begin(entry_key(Hash128{}, hash128(Objects::key_of(kPaused))));
    EXPECT_TRUE(flight->pause(SingleFlight::Stored{bytes}).empty());
    const uint64_t before = reads_of(rig);
    EXPECT_EQ(drained(rig).digest, expected) << is_part;
    EXPECT_EQ(reads_of(rig) - before, static_cast<uint64_t>(is_part ? 2 * kObjects : kObjects - 1));
  }
}

TEST(RunnerCache, with_hardly_any_memory_and_room_for_few_entries_every_run_ends_with_the_same_samples) {
  Rig without = keeping(nullptr, 40);
  without.change_plan = {};
  const std::string expected = drained(without).digest;
  for (const size_t most : {size_t{0}, size_t{5}, SIZE_MAX}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const auto cache = std::make_shared<MapCache>(most);
      std::vector<std::future<std::string>> runs;
      for (int i = 0; i < 2; ++i) {
        runs.push_back(std::async(std::launch::async, [&, i] {
          Rig rig = keeping(cache, 40, seed);
          rig.options.requests = 8;
          rig.options.memory.share.wanted = 6'000 + 3'000 * static_cast<uint64_t>(i);
          return drained(rig).digest;
        }));
      }
      for (auto& run : runs) EXPECT_EQ(run.get(), expected) << most << " entries, seed " << seed;
      EXPECT_EQ(cache->flights()->size(), 0u);
    }
  }
}

TEST(RunnerCache, a_run_that_goes_elsewhere_or_ends_lets_others_make_what_it_was_making) {
  const auto cache = std::make_shared<MapCache>();
  Rig rig = keeping(cache, 30);
  for (int round = 0; round < 3; ++round) {
    const std::shared_ptr<Runner> left = rig.run();
    ASSERT_TRUE(left->next_for(seconds(120))->batch);
    left->seek({2, 0, 0});
    if (round == 1) left->close();
    Rig other = keeping(cache, 30);
    other.store = rig.store;
    other.shuffled = false;
    EXPECT_EQ(drained(other).ids.size(), 150u);
  }
  EXPECT_EQ(cache->flights()->size(), 0u);
}

// Tasks that waited for the entry read the object themselves and report its error in their own
// place.
TEST(RunnerCache, what_fails_is_not_waited_for) {
  const auto cache = std::make_shared<MapCache>();
  Rig rig = keeping(cache, 12);
  rig.batch = 12;
  rig.options.bad_sample = BadSample::kSkip;
  const auto store = Objects::store_of(rig.sizes);
  store->erase(Objects::key_of(5));
  rig.store = slow_store(store, {.seed = 1, .latency_ms = 0.1, .jitter_ms = 2});
  const Outcome outcome = drained(rig);
  EXPECT_EQ(outcome.told.size(), 5u) << "once an epoch";
  EXPECT_EQ(outcome.batches, 5);
  EXPECT_EQ(reads_of(rig), 11u + 5u);
}

}  // namespace
}  // namespace forebay
