// Tests replayed samples of sources with chunks of many rows: each needs its row group (here a
// chunk of a tar shard), unless its result was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>

#include "codec/encode_image.h"
#include "forebay/ledger.h"
#include "format/webdataset/tar_test_support.h"
#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

using namespace loader_test;

constexpr int64_t kInShards = 96, kOfClass = 24;

/// Pictures of 12 × 12 and their labels, in two shards of many chunks.
struct TarShards {
  TarShards() {
    for (int64_t shard = 0; shard < 2; ++shard) {
      tar_test::Files files;
      for (int64_t i = shard * kInShards / 2; i < (shard + 1) * kInShards / 2; ++i) {
        Tensor pixels = Tensor::allocate(DType::kUint8, Shape{12, 12, 3});
        for (size_t at = 0; at < pixels.buffer.size(); ++at)
          pixels.buffer.data()[at] = static_cast<uint8_t>((at + static_cast<size_t>(i) * 131) * 7919 >> 3);
        const Buffer png = *encode_png(pixels);
        files.emplace_back(fmt::format("{:03}.png", i),
                           std::string(reinterpret_cast<const char*>(png.data()), png.size()));
        files.emplace_back(fmt::format("{:03}.cls", i), std::to_string(i / kOfClass));
      }
      folder.write(fmt::format("{}.tar", shard), tar_test::tar_of(files));
    }
  }
  Pipeline source() const {
    return webdataset(folder.path("*.tar"),
                      {.fields = {{"image", "png"}, {"label", "cls"}}, .chunk = "8kB", .index = "beside"});
  }
  ScratchFolder folder;
};

struct ChunkRow {
  bool old = false;
  int64_t id = 0, label = 0;
  std::string picture;
  auto operator<=>(const ChunkRow&) const = default;
};
using ChunkSteps = std::vector<std::vector<ChunkRow>>;

std::vector<ChunkRow> chunk_rows_of(const Batch& batch) {
  std::vector<ChunkRow> rows;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const auto picture = batch.find("image")->row(i);
    rows.push_back({batch.find("rehearsed")->values.buffer.data()[i] != 0, batch.ids[static_cast<size_t>(i)],
                    batch.find("label")->values.data<int64_t>()[i], std::string(picture.begin(), picture.end())});
  }
  return rows;
}

/// 8 new and 4 replayed rows over all ranks, from mixed chunks.
Pipeline rehearsed(const TarShards& shards, int64_t ranks, RehearseOptions options) {
  const int64_t old = 4 / ranks, fresh = 8 / ranks;
  const Pipeline mixed = shards.source().shuffle({.block = 3, .lanes = 4});
  if (options.where == "raw") return mixed.rehearse(old, 5, options).batch(fresh);
  return mixed.decode_image().random_crop(8).rehearse(old, 5, options).random_crop(5).batch(fresh);
}

/// The remaining steps over all ranks. New rows are sorted, since the shard assignment places them;
/// replayed rows stay in the order in which they were drawn.
ChunkSteps chunk_steps(const TarShards& shards, int ranks, const RehearseOptions& options, LoaderOptions given = {},
                       const std::string& state = "") {
  ChunkSteps steps;
  for (int rank = 0; rank < ranks; ++rank) {
    given.seed = 5, given.epochs = 2, given.job.rank = rank, given.job.world_size = ranks;
    const auto loader = opened(rehearsed(shards, ranks, options), given);
    if (!state.empty()) {
      EXPECT_TRUE(loader->load_state(state).ok());
    }
    for (size_t step = 0; !loader->finished();) {
      for (const Batch& batch : epoch_of(*loader)) {
        if (steps.size() <= step) steps.emplace_back();
        for (ChunkRow& row : chunk_rows_of(batch)) steps[step].push_back(std::move(row));
        ++step;
      }
    }
    EXPECT_LE(loader->stats().memory_peak, given.resources.memory.value_or(UINT64_MAX));
  }
  for (auto& step : steps) {
    const auto old = std::stable_partition(step.begin(), step.end(), [](const ChunkRow& row) { return !row.old; });
    std::sort(step.begin(), old);
  }
  return steps;
}

const std::vector<RehearseOptions> kKinds = {{.where = "raw"}, {.where = "here"}, {.where = "here", .ram = "0"}};

TEST(RehearseChunks, replayed_rows_have_the_results_of_earlier_steps_and_their_classes) {
  const TarShards shards;
  std::map<int64_t, std::string> was;
  int64_t old = 0;
  for (const auto& step : chunk_steps(shards, 1, kKinds.front())) {
    for (const ChunkRow& row : step) {
      EXPECT_EQ(row.label, row.id / kOfClass);
      if (row.old) {
        ++old;
        EXPECT_EQ(was[row.id], row.picture) << "the row that was new before";
      }
    }
    for (const ChunkRow& row : step)
      if (!row.old) was[row.id] = row.picture;
  }
  EXPECT_EQ(old, 4 * 23) << "nothing is old in the first of 24 steps";
  EXPECT_EQ(was.size(), static_cast<size_t>(kInShards));
}

TEST(RehearseChunks, gives_the_same_for_any_number_of_ranks_and_threads_and_whatever_is_kept) {
  const TarShards shards;
  const ChunkSteps raw = chunk_steps(shards, 1, {.where = "raw"}), here = chunk_steps(shards, 1, {.where = "here"});
  for (const RehearseOptions& kind : kKinds) {
    for (const int ranks : {1, 2, 4}) {
      for (const int threads : {1, 3}) {
        EXPECT_EQ(chunk_steps(shards, ranks, kind, {.resources = {.threads = threads}}),
                  kind.where == "raw" ? raw : here)
            << kind.where << ' ' << ranks << " ranks, " << threads << " threads";
      }
    }
  }
}

/// The rows of a run with that memory, the new ones of a step sorted; or its error.
Result<std::vector<ChunkRow>> rows_within(const TarShards& shards, const RehearseOptions& kind, uint64_t memory) {
  Result<std::unique_ptr<Loader>> loader =
      Loader::open(rehearsed(shards, 1, kind), {.seed = 5, .epochs = 2, .resources = {.threads = 2, .memory = memory}});
  if (!loader.ok()) return loader.status();
  std::vector<ChunkRow> rows;
  while (!(*loader)->finished()) {
    FOREBAY_ASSIGN(const std::optional<Batch> batch, (*loader)->next());
    if (!batch) continue;
    std::vector<ChunkRow> step = chunk_rows_of(*batch);
    std::sort(step.begin(),
              std::stable_partition(step.begin(), step.end(), [](const ChunkRow& row) { return !row.old; }));
    rows.insert(rows.end(), step.begin(), step.end());
  }
  return rows;
}

TEST(RehearseChunks, gives_the_same_with_the_least_memory) {
  const TarShards shards;
  for (const RehearseOptions& kind : kKinds) {
    const ChunkSteps whole = chunk_steps(shards, 1, kind);
    // With by=, the pass that reads classes runs after open(), so the needed memory is known after
    // it.
    auto loader = Loader::open(rehearsed(shards, 1, kind), {.resources = {.threads = 2, .memory = 1}});
    const Status refused = loader.ok() ? (*loader)->prepare() : loader.status();
    ASSERT_EQ(refused.code(), Code::kOutOfBudget);
    for (const int threads : {1, 2})
      EXPECT_EQ(chunk_steps(shards, 1, kind, {.resources = {.threads = threads, .memory = refused.bytes_needed()}}),
                whole);
    std::vector<ChunkRow> joined;
    for (const auto& step : whole) joined.insert(joined.end(), step.begin(), step.end());
    // With less memory a batch may not fit, which is an error. No batch differs, and no run hangs.
    int64_t whole_runs = 0, refused_runs = 0;
    for (uint64_t memory = refused.bytes_needed(); memory > 10'000; memory = memory * 7 / 8) {
      const Result<std::vector<ChunkRow>> rows = rows_within(shards, kind, memory);
      if (rows.ok()) {
        EXPECT_EQ(*rows, joined) << kind.where << ' ' << memory;
      } else {
        EXPECT_EQ(rows.status().code(), Code::kOutOfBudget) << rows.status().to_string();
      }
      ++(rows.ok() ? whole_runs : refused_runs);
    }
    EXPECT_GT(whole_runs, 2) << "less than what is advised is enough most of the time";
    EXPECT_GT(refused_runs, 0);
  }
}

TEST(RehearseChunks, gives_the_same_after_a_resume) {
  const TarShards shards;
  for (const RehearseOptions& kind : kKinds) {
    const ChunkSteps whole = chunk_steps(shards, 1, kind);
    for (const size_t steps : {1u, 7u, 15u}) {
      const auto loader = opened(rehearsed(shards, 1, kind), {.seed = 5, .epochs = 2});
      for (size_t done = 0; done < steps;) {
        const auto batch = loader->next();
        ASSERT_TRUE(batch.ok());
        done += batch->has_value() ? 1 : 0;
      }
      const ChunkSteps rest(whole.begin() + static_cast<std::ptrdiff_t>(steps), whole.end());
      EXPECT_EQ(chunk_steps(shards, 1, kind, {}, loader->state()), rest) << steps;
      EXPECT_EQ(chunk_steps(shards, 2, kind, {}, loader->state()), rest) << steps;
      // Moves the same loader back to its earlier state.
      const std::string state = loader->state();
      ASSERT_TRUE(loader->next().ok());
      ASSERT_TRUE(loader->load_state(state).ok());
      const auto again = loader->next();
      ASSERT_TRUE(again.ok() && again->has_value());
      std::vector<ChunkRow> rows = chunk_rows_of(**again);
      const auto old = std::stable_partition(rows.begin(), rows.end(), [](const ChunkRow& row) { return !row.old; });
      std::sort(rows.begin(), old);
      EXPECT_EQ(rows, rest.front());
    }
  }
}

/// Returns how many chunks were decoded in one epoch, and how many rows the step before the stage
/// made.
std::pair<uint64_t, int64_t> work_of(const TarShards& shards, const char* ram) {
  std::atomic<int64_t> made = 0;
  const Pipeline pipeline = shards.source()
                                .map(
                                    [&made](Sample&) {
                                      ++made;
                                      return Status();
                                    },
                                    {.fields = {"label"}})
                                .rehearse(1, 5, {.where = "here", .ram = ram})
                                .batch(1);
  const auto loader = opened(pipeline, {.epochs = 1, .resources = {.threads = 1}});
  (void)epoch_of(*loader);
  uint64_t decoded = 0;
  for (const uint32_t times : loader->stats().chunks) decoded += times;
  return {decoded, made};
}

TEST(RehearseChunks, reads_no_chunk_again_for_cached_rows) {
  const TarShards shards;
  const auto loader = opened(shards.source().batch(8));
  const size_t chunks = loader->stats().chunks.size();
  ASSERT_GT(chunks, 12u);
  const auto [kept_decodes, kept_rows] = work_of(shards, "1MiB");
  const auto [decodes, rows] = work_of(shards, "0");
  EXPECT_EQ(rows, kInShards + kInShards - 1);
  // A few rows were drawn while they were being made; their chunks are in memory.
  EXPECT_LT(kept_rows, kInShards + 10);
  EXPECT_EQ(kept_decodes, chunks);
  EXPECT_GT(decodes, chunks + 4);
}

TEST(RehearseChunks, knows_the_classes_of_filtered_samples) {
  const TarShards shards;
  std::map<int64_t, int64_t> rows;
  const Pipeline pipeline =
      shards.source().only({{"label", {int64_t{1}, int64_t{3}}}}).shuffle().rehearse(6, 2).batch(8);
  for (const Batch& batch : epoch_of(*opened(pipeline, {.seed = 2, .epochs = 1}))) {
    for (const ChunkRow& row : chunk_rows_of(batch)) ++rows[row.old ? row.label : 10 + row.label];
  }
  EXPECT_EQ(rows[11], kOfClass);
  EXPECT_EQ(rows[13], kOfClass);
  EXPECT_GT(rows[1], 8);
  EXPECT_GT(rows[3], 8);
  EXPECT_EQ(rows.size(), 4u);
}

TEST(RehearseChunks, classes_count_as_index_memory) {
  const TarShards shards;
  const auto ledger_of = [&](const Pipeline& pipeline) {
    const auto loader = opened(pipeline.batch(8), {.epochs = 1});
    EXPECT_TRUE(loader->next().ok());
    return loader->stats();
  };
  const Ledger with = ledger_of(shards.source().rehearse(2, 5)),
               without = ledger_of(shards.source().rehearse(2, 5, {.by = ""}));
  // Four bytes per sample, and eight per class, including that of damaged samples.
  constexpr uint64_t kBytes = 4 * kInShards + 8 * (kInShards / kOfClass + 1);
  EXPECT_EQ(with.index_bytes, without.index_bytes + kBytes);
  EXPECT_EQ(with.memory_index, without.memory_index + kBytes);
}

TEST(RehearseChunks, names_a_field_that_cannot_determine_classes) {
  const TarShards shards;
  const auto refused = [](const Pipeline& pipeline) { return Loader::open(pipeline.batch(8)).status(); };
  EXPECT_NE(refused(shards.source().rehearse(2, 5, {.by = "colour"})).message().find("no field 'colour'"),
            std::string::npos);
  EXPECT_TRUE(refused(shards.source().rehearse(2, 5, {.by = "key"})).ok()) << "a text";
  EXPECT_TRUE(refused(shards.source().rehearse(2, 5, {.by = ""})).ok());
}

}  // namespace
}  // namespace forebay
