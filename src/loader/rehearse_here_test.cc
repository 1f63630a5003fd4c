// Tests replayed samples that re-enter at the .rehearse() step, with their earlier results.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <span>

#include "forebay/ledger.h"
#include "loader/loader_test_support.h"
#include "loader/run/replay_rows.h"

namespace forebay {
namespace {

using namespace loader_test;

constexpr int64_t kSamples = 48;

Array pictures() {
  Tensor values = Tensor::allocate(DType::kUint8, Shape{kSamples, 12, 12, 3});
  for (size_t i = 0; i < values.buffer.size(); ++i) values.buffer.data()[i] = static_cast<uint8_t>(i * 7919 >> 3);
  return {std::move(values), ""};
}

/// A row of a batch: whether it is replayed, its id, and its picture.
struct SeenRow {
  bool old = false;
  int64_t id = 0;
  std::string picture;
  auto operator<=>(const SeenRow&) const = default;
};

std::vector<SeenRow> rows_of(const Batch& batch) {
  const BatchField *old = batch.find("rehearsed"), *image = batch.find("image");
  const size_t bytes = image->values.buffer.size() / batch.ids.size();
  std::vector<SeenRow> rows;
  for (size_t i = 0; i < batch.ids.size(); ++i) {
    const auto* picture = reinterpret_cast<const char*>(image->values.buffer.data()) + i * bytes;
    rows.push_back({old->values.buffer.data()[i] != 0, batch.ids[i], std::string(picture, bytes)});
  }
  return rows;
}

/// 8 new and 4 replayed samples over all ranks, with a random step before the stage and one after
/// it.
Pipeline random_around(int64_t ranks, RehearseOptions options) {
  options.by = "";
  options.where = "here";
  return arrays({{"image", pictures()}})
      .shuffle()
      .random_crop({8})
      .rehearse(4 / ranks, 10, options)
      .random_crop({5})
      .batch(8 / ranks);
}

/// The rows of the steps of two epochs, over all ranks. New rows are sorted, since the shard
/// assignment places them.
std::vector<std::vector<SeenRow>> steps_of(int ranks, const RehearseOptions& options, const std::string& state = "") {
  std::vector<std::vector<SeenRow>> steps;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto loader =
        opened(random_around(ranks, options), {.seed = 5, .epochs = 2, .job = {.rank = rank, .world_size = ranks}});
    if (!state.empty()) {
      EXPECT_TRUE(loader->load_state(state).ok());
    }
    size_t step = 0;
    while (!loader->finished()) {
      for (const Batch& batch : epoch_of(*loader)) {
        if (steps.size() <= step) steps.emplace_back();
        for (SeenRow& row : rows_of(batch)) steps[step].push_back(std::move(row));
        ++step;
      }
    }
  }
  for (auto& step : steps) {
    const auto old = std::stable_partition(step.begin(), step.end(), [](const SeenRow& row) { return !row.old; });
    std::sort(step.begin(), old);
  }
  return steps;
}

TEST(RehearseHere, gives_the_same_for_any_number_of_ranks_and_any_budget) {
  const auto whole = steps_of(1, {});
  ASSERT_EQ(whole.size(), 12u);
  EXPECT_EQ(std::count_if(whole[3].begin(), whole[3].end(), [](const SeenRow& row) { return row.old; }), 4);
  for (const int ranks : {1, 2, 4}) {
    for (const char* ram : {"0", "2kB", "1GiB"}) EXPECT_EQ(steps_of(ranks, {.ram = ram}), whole) << ranks << ' ' << ram;
  }
}

TEST(RehearseHere, gives_the_same_after_a_resume) {
  const auto whole = steps_of(1, {});
  for (const size_t steps : {2u, 6u, 9u}) {
    const auto loader = opened(random_around(1, {}), {.seed = 5, .epochs = 2});
    size_t done = 0;
    while (done < steps) {
      const auto batch = loader->next();
      ASSERT_TRUE(batch.ok());
      done += batch->has_value() ? 1 : 0;
    }
    const std::vector<std::vector<SeenRow>> rest(whole.begin() + static_cast<std::ptrdiff_t>(steps), whole.end());
    EXPECT_EQ(steps_of(1, {}, loader->state()), rest) << steps;
    EXPECT_EQ(steps_of(2, {.ram = "0"}, loader->state()), rest) << steps;
  }
}

// Collects the pictures of each sample. Without steps after the stage, a replayed row equals an
// earlier new row.
TEST(RehearseHere, replays_the_recorded_results_of_earlier_steps) {
  for (const char* ram : {"0", "1GiB"}) {
    const Pipeline pipeline = arrays({{"image", pictures()}})
                                  .random_crop({8})
                                  .rehearse(4, 20, {.by = "", .where = "here", .ram = ram})
                                  .batch(8);
    const auto loader = opened(pipeline, {.seed = 1, .epochs = 3});
    std::map<int64_t, std::vector<std::string>> was;
    int64_t old = 0;
    while (!loader->finished()) {
      for (const Batch& batch : epoch_of(*loader)) {
        for (const SeenRow& row : rows_of(batch)) {
          old += row.old ? 1 : 0;
          if (!row.old) was[row.id].push_back(row.picture);
          EXPECT_EQ(std::ranges::count(was[row.id], row.picture) > 0, true) << row.id << " with ram=" << ram;
        }
      }
    }
    EXPECT_GT(old, 60);
    EXPECT_TRUE(std::ranges::any_of(was, [](const auto& one) { return one.second.front() != one.second.back(); }));
  }
}

/// Calls of the steps before and after a rehearsal, and its count of rows that were computed again.
struct Calls {
  int64_t before = 0, behind = 0, made_again = 0;
};

/// Counts the calls over one epoch of 48 new samples.
Calls calls_of(const char* ram) {
  std::atomic<int64_t> before = 0, behind = 0;
  const auto counts = [](std::atomic<int64_t>& calls) {
    return [&calls](Sample&) {
      ++calls;
      return Status();
    };
  };
  const Pipeline pipeline = arrays({{"x", counting(kSamples, 4)}})
                                .map(counts(before), {.fields = {"x"}})
                                .rehearse(4, 10, {.by = "", .where = "here", .ram = ram})
                                .map(counts(behind), {.fields = {"x"}})
                                .batch(8);
  // With one thread, rows are made nearly in order, so results are recorded before their samples
  // are replayed.
  const auto loader = opened(pipeline, {.epochs = 1, .resources = {.threads = 1}});
  (void)epoch_of(*loader);
  return {before, behind, static_cast<int64_t>(loader->stats().rehearsal.value_or(RehearsalStats()).misses)};
}

TEST(RehearseHere, skips_earlier_steps_for_cached_rows) {
  const int64_t rows = kSamples + 4 * 5;  // the first step has no replayed rows
  const Calls kept = calls_of("1MiB"), none = calls_of("0");
  EXPECT_EQ(kept.behind, rows);
  EXPECT_EQ(kept.before, kSamples + kept.made_again);
  EXPECT_LT(kept.made_again, 10) << "those alone that were drawn while they were being made";
  EXPECT_EQ(none.behind, rows);
  EXPECT_EQ(none.before, rows);
  EXPECT_EQ(none.made_again, rows - kSamples);
}

TEST(RehearseHere, counts_hits_and_recomputed_rows) {
  const auto counted = [](const char* ram) {
    const RehearseOptions here{.by = "", .where = "here", .ram = ram};
    const auto loader = opened(arrays({{"x", counting(kSamples, 4)}}).rehearse(4, 10, here).batch(8),
                               {.epochs = 1, .resources = {.threads = 1}});
    (void)epoch_of(*loader);
    const Ledger ledger = loader->stats();
    EXPECT_EQ(ledger.rehearsal ? ledger.rehearsal->bytes : 1, ledger.memory_caches);
    return ledger.rehearsal.value_or(RehearsalStats());
  };
  const RehearsalStats all = counted("1MiB"), none = counted("0");
  EXPECT_EQ(all.hits + all.misses, 20u);
  EXPECT_LT(all.misses, 10u) << "those alone that were drawn while they were being made";
  EXPECT_EQ(all.entries, 10u);
  EXPECT_GT(all.bytes, 10u * 16);
  EXPECT_EQ(all.budget_bytes, uint64_t{1} << 20);
  EXPECT_EQ(std::pair(none.hits, none.misses), std::pair(uint64_t{0}, uint64_t{20}));
  EXPECT_EQ(none.entries + none.bytes + none.budget_bytes, 0u);
  EXPECT_FALSE(opened(arrays({{"x", counting(kSamples, 4)}}).rehearse(4, 10, {.by = ""}).batch(8))->stats().rehearsal);
}

TEST(RehearseHere, a_row_reclaimed_for_memory_is_recomputed_once) {
  // Larger than a thread's working memory, so that each row claims memory after the stage.
  const Pipeline pipeline = arrays({{"x", counting(kSamples, 4)}})
                                .rehearse(4, 10, {.by = "", .where = "here", .ram = "0"})
                                .pad("x", 0, {.length = 100'000})
                                .batch(8);
  const auto loader = opened(pipeline, {.epochs = 1, .resources = {.threads = 1}});
  (void)epoch_of(*loader);
  EXPECT_EQ(loader->stats().rehearsal.value_or(RehearsalStats()).misses, 20u);
}

TEST(RehearseHere, marks_are_a_field_that_steps_behind_it_see) {
  const Pipeline source = arrays({{"image", pictures()}, {"x", counting(kSamples)}});
  const RehearseOptions here{.by = "", .where = "here"};
  const auto marked = opened(source.rehearse(2, 9, here).select({"rehearsed", "x"}).batch(8));
  const std::vector<Batch> batches = epoch_of(*marked);
  ASSERT_EQ(batches[1].fields.size(), 2u);
  const BatchField* const marks = batches[1].find("rehearsed");
  ASSERT_NE(marks, nullptr);
  EXPECT_EQ(marks->values.buffer.data()[9], 1);
  EXPECT_EQ(marks->values.buffer.data()[7], 0);
  const auto unmarked = opened(source.rehearse(2, 9, here).select({"x"}).batch(8));
  EXPECT_EQ(epoch_of(*unmarked)[1].fields.size(), 1u);
}

TEST(RehearseHere, checks_the_order_of_steps) {
  const Pipeline source = arrays({{"x", counting(kSamples)}});
  const RehearseOptions here{.by = "", .where = "here"};
  const auto problem = [](const Pipeline& pipeline) {
    const std::vector<Problem> problems = pipeline.batch(8).check();
    return problems.empty() ? "" : problems.front().message + "; " + problems.front().remedy;
  };
  EXPECT_EQ(problem(source.rehearse(2, 9, here).clip({.min = 0, .field = {"x"}})), "");
  for (const Pipeline& behind : {source.rehearse(2, 9, here).shuffle(), source.rehearse(2, 9, here).cache(),
                                 source.rehearse(2, 9, here).rehearse(2, 9, here)})
    EXPECT_NE(problem(behind).find("move it before .rehearse()"), std::string::npos) << problem(behind);
  EXPECT_NE(problem(source.rehearse(2, 9, {.by = ""}).clip({.min = 0, .field = {"x"}})).find("where=\"here\""),
            std::string::npos);
  EXPECT_NE(problem(source.rehearse(2, 9, {.by = "", .where = "there"})).find("unknown where \"there\""),
            std::string::npos);
  EXPECT_NE(problem(source.rehearse(2, 9, {.by = "", .ram = "1MiB"})).find("leave it out"), std::string::npos);
}

TEST(RehearseHere, states_with_wrong_epochs_are_refused) {
  const auto loader = opened(random_around(1, {}), {.seed = 5});
  ASSERT_TRUE(loader->next().ok());
  const std::string state = loader->state();
  const size_t at = state.find(",[0,0,0,0,0,0,0,0]");
  ASSERT_NE(at, std::string::npos) << state;
  for (const char* wrong : {",[0]", ",[0,0,0,0,0,0,0,-1]", ",7"}) {
    std::string changed = state;
    changed.replace(at, 18, wrong);
    EXPECT_EQ(loader->load_state(changed).code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_TRUE(loader->load_state(state).ok());
}

// Results in memory

std::shared_ptr<const Columns> row_of(uint64_t bytes) {
  Field field;
  field.name = "x";
  field.dtype = DType::kUint8;
  field.shape = Shape{static_cast<int64_t>(bytes)};
  Record record;
  record.push_back(Value::of(Tensor::allocate(DType::kUint8, field.shape)));
  std::fill_n(record[0].tensor.buffer.data(), bytes, uint8_t{3});
  return std::make_shared<const Columns>(*columns_of(Schema({field}), record));
}

TEST(ReplayRows, stores_rows_of_buffered_samples_only_within_its_budget) {
  ReplayRows rows(5000);
  const std::vector<ReplaySample> samples = {{1, 0}, {1, 1}, {2, 0}, {2, 0}};
  const auto put = [&](const ReplaySample& sample) { rows.put(replay_key(sample), row_of(1000), 0, KeepIn::kMemory); };
  put(samples[0]);
  EXPECT_FALSE(rows.has(replay_key(samples[0]))) << "it is not kept";
  rows.retain(samples);
  EXPECT_TRUE(rows.try_admit(replay_key(samples[1]), 1));
  for (const ReplaySample& sample : samples) put(sample);
  EXPECT_FALSE(rows.try_admit(replay_key(samples[1]), 1));
  ASSERT_TRUE(rows.find(replay_key(samples[2])));
  EXPECT_EQ(rows.find(replay_key(samples[2]))->columns->nbytes(), 1000u);
  EXPECT_EQ(rows.stats().hits, 2u);
  EXPECT_EQ(rows.stats().entries, 3u);
  const uint64_t three = rows.bytes();
  EXPECT_LE(three, 5000u);
  rows.release(std::span(samples).subspan(2, 1));
  EXPECT_TRUE(rows.has(replay_key(samples[2]))) << "it is kept twice";
  rows.release(std::span(samples).subspan(2, 1));
  EXPECT_FALSE(rows.has(replay_key(samples[2])));
  EXPECT_EQ(rows.bytes(), three / 3 * 2);
  rows.retain_only(std::span(samples).first(1));
  EXPECT_TRUE(rows.has(replay_key(samples[0])));
  EXPECT_FALSE(rows.has(replay_key(samples[1])));
  EXPECT_EQ(rows.stats().entries, 1u);
  EXPECT_EQ(rows.reclaim(1), three / 3);
  EXPECT_EQ(rows.bytes(), 0u);
  EXPECT_EQ(rows.stats().entries, 0u);
  EXPECT_TRUE(rows.try_admit(replay_key(samples[0]), 1)) << "it is kept all the same, and may come again";
}

TEST(ReplayRows, stores_nothing_beyond_its_budget) {
  ReplayRows rows(2000);
  const std::vector<ReplaySample> samples = {{1, 0}, {2, 0}};
  rows.retain(samples);
  for (const ReplaySample& sample : samples) rows.put(replay_key(sample), row_of(1000), 0, KeepIn::kMemory);
  EXPECT_TRUE(rows.has(replay_key(samples[0])));
  EXPECT_FALSE(rows.has(replay_key(samples[1])));
}

}  // namespace
}  // namespace forebay
