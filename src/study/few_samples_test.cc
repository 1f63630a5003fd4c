#include "study/few_samples.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "format/table/open_table_test_support.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

using table_test::Opening;
using table_test::rows_of;
using table_test::table;

std::shared_ptr<const Source> ten_numbers() {
  return *open_source(numbers(10).description().steps().front(), OpenSourceOptions());
}

TEST(FewSamples, HaveNewIdsOverTheSameData) {
  const auto all = ten_numbers();
  const auto chosen = subset_of(all, {2, 3, 9});
  EXPECT_EQ(chosen->size(), 3);
  EXPECT_EQ(chosen->version(), all->version());
  for (const auto& [number, id] : {std::pair<int64_t, int64_t>{0, 2}, {1, 3}, {2, 9}}) {
    EXPECT_EQ(chosen->key(number), all->key(id));
    EXPECT_EQ(chosen->identity(number), all->identity(id));
    Record got, wanted;
    ASSERT_TRUE(chosen->as_samples()->load(number, {}, got).ok());
    ASSERT_TRUE(all->as_samples()->load(id, {}, wanted).ok());
    EXPECT_EQ(*got[0].tensor.data<float>(), *wanted[0].tensor.data<float>());
  }
}

TEST(FewSamples, OfATableAreChunks) {
  Opening opening;
  opening.put("t/a.parquet", table(0, {2, 3, 1}));
  opening.put("t/b.parquet", table(100, {4}));
  const auto all = *opening.open("t/*.parquet");
  const auto chosen = shared_as_chunks(subset_of(all, {1, 3}));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->chunks(), 2);
  EXPECT_EQ(chosen->size(), 7);
  EXPECT_EQ(chosen->chunk_begin(1), 3);
  EXPECT_EQ(chosen->key(0), all->key(2));
  EXPECT_EQ(chosen->key(6), all->key(9));
  EXPECT_EQ(chosen->chunk_name(1), all->chunk_name(3));
  std::vector<std::string> wanted = rows_of(*all);
  wanted.erase(wanted.begin() + 5);
  wanted.erase(wanted.begin(), wanted.begin() + 2);
  EXPECT_EQ(rows_of(*chosen), wanted);
  const std::vector<std::string> names{"t"};
  EXPECT_EQ((*chosen->with_fields(names))->schema().names(), "t");
}

TEST(FewSamples, OfEqualSizesAreSpreadAndEachOfTheirCopiesIsAnother) {
  const auto all = ten_numbers();
  const auto few = representative_subset(all, 2, {.count = 3});
  ASSERT_EQ(few->size(), 6);
  std::set<std::string> identities;
  for (int64_t id = 0; id < few->size(); ++id) {
    EXPECT_EQ(few->key(id), all->key(id % 2 * 5));
    identities.insert(few->identity(id)->hash.to_string());
  }
  EXPECT_EQ(identities.size(), 6u) << "a cache would keep copies once";
  EXPECT_EQ(few->identity(1), all->identity(5));
  EXPECT_EQ(representative_subset(all, 2, {.count = 3, .alike = true})->identity(3), all->identity(5))
      << "or once, where that is wanted";
  EXPECT_EQ(representative_subset(all, 1000)->size(), 10);
}

TEST(FewSamples, ReadAsFastAsTheDataSetWouldBe) {
  const auto all = ten_numbers();
  const auto few = representative_subset(all, 5, {.count = 2});
  ASSERT_TRUE(all->as_samples()->gathers(0));
  ASSERT_TRUE(few->as_samples()->gathers(0));
  const std::vector<int64_t> ids{9, 0, 6};
  std::array<float, 3> out{};
  ASSERT_TRUE(few->as_samples()->gather(0, ids, reinterpret_cast<uint8_t*>(out.data())).ok());
  EXPECT_EQ(out, (std::array<float, 3>{8, 0, 2}));
}

TEST(FewSamples, OfATableAreWholeChunks) {
  Opening opening;
  opening.put("t/a.parquet", table(0, {2, 3, 1}));
  opening.put("t/b.parquet", table(100, {4}));
  const auto all = *opening.open("t/*.parquet");
  const auto few = shared_as_chunks(representative_subset(all, 3, {.count = 2}));
  ASSERT_TRUE(few);
  EXPECT_EQ(few->chunks(), 4) << "a small one and a large one, twice";
  EXPECT_EQ(few->size(), 10);
  EXPECT_EQ(few->chunk_name(0), all->chunk_name(2));
  EXPECT_EQ(few->chunk_name(1), all->chunk_name(3));
}

// A source of chunks with those rows and bytes per row; it only gives what the choice needs.
class OfChunks final : public ChunkSource {
 public:
  explicit OfChunks(std::vector<std::pair<int64_t, uint64_t>> chunks) : chunks_(std::move(chunks)) {
    for (const auto& [rows, bytes] : chunks_) begins_.push_back(begins_.back() + rows);
  }
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return chunk_begin(chunks()); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return std::to_string(id); }
  int64_t chunks() const override { return static_cast<int64_t>(chunks_.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t chunk) const override { return std::to_string(chunk); }
  ChunkCost chunk_cost(int64_t chunk) const override {
    const auto& [rows, bytes] = chunks_[static_cast<size_t>(chunk)];
    return {static_cast<uint64_t>(rows) * bytes / 2, static_cast<uint64_t>(rows) * bytes};
  }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::vector<Buffer>, WorkMemory&) const override { return Columns(); }
  std::optional<Hash128> chunk_identity(int64_t) const override { return {}; }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("never asked");
  }

 private:
  const std::vector<std::pair<int64_t, uint64_t>> chunks_;
  std::vector<int64_t> begins_{0};
  const Schema schema_;
};

TEST(FewSamples, OfATableHaveRowsOfTheMeanSizeOfAll) {
  std::vector<std::pair<int64_t, uint64_t>> mixed(10, {64, 300});
  mixed.insert(mixed.end(), 10, {64, 4});
  mixed.push_back({640, 4});
  std::vector<std::pair<int64_t, uint64_t>> growing;
  for (int64_t i = 0; i < 200; ++i) growing.emplace_back(10 + i % 7, static_cast<uint64_t>(i) * 10 + 1);
  for (const auto& chunks : {mixed, growing}) {
    const auto all = std::make_shared<OfChunks>(chunks);
    const auto bytes_of = [](const ChunkSource& source) {
      double bytes = 0;
      for (int64_t chunk = 0; chunk < source.chunks(); ++chunk)
        bytes += static_cast<double>(source.chunk_cost(chunk).decoded_bytes);
      return bytes / static_cast<double>(source.size());
    };
    for (const int64_t rows : {100, 200, 500}) {
      const auto few = shared_as_chunks(representative_subset(all, rows));
      EXPECT_GE(few->size(), rows);
      EXPECT_LE(few->size(), std::max<int64_t>(4 * rows, 800));
      EXPECT_NEAR(bytes_of(*few) / bytes_of(*all), 1, 0.1) << rows << " of " << all->size();
    }
  }
}

// Each row is a row group, and half of them are much larger, so thousands are chosen.
TEST(FewSamples, OfManySmallRowGroupsAreChosenInLittleTime) {
  std::vector<std::pair<int64_t, uint64_t>> chunks;
  for (int64_t i = 0; i < 20'000; ++i) chunks.emplace_back(1, i < 10'000 ? 1 : 1'000'000 + static_cast<uint64_t>(i));
  const auto few = shared_as_chunks(representative_subset(std::make_shared<OfChunks>(chunks), 4000));
  EXPECT_GE(few->size(), 4000);
  EXPECT_LE(few->size(), 16'000);
}

// A source of samples with those sizes; it only gives what the choice needs.
class OfSizes final : public SampleSource {
 public:
  explicit OfSizes(std::vector<uint64_t> sizes) : sizes_(std::move(sizes)) {}
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return static_cast<int64_t>(sizes_.size()); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return std::to_string(id); }
  Fetch fetch(int64_t id) const override { return {nullptr, {}, sizes_[static_cast<size_t>(id)]}; }
  Status load(int64_t, Buffer, Record&) const override { return {}; }

 private:
  const std::vector<uint64_t> sizes_;
  const Schema schema_;
};

double mean_size(const Source& source) {
  double sum = 0;
  for (int64_t id = 0; id < source.size(); ++id) sum += static_cast<double>(source.as_samples()->fetch(id).size);
  return sum / static_cast<double>(source.size());
}

TEST(FewSamples, HaveTheMeanSizeOfAllHoweverSizesAreSpreadAndWhateverReturns) {
  for (const bool in_order : {true, false}) {
    std::vector<uint64_t> sizes;
    for (uint64_t i = 0; i < 10'000; ++i) {
      // Each fifth one is three times as large: the period of evenly spaced samples.
      const uint64_t period = i % 5 == 0 ? 3 : 1;
      sizes.push_back(period * 1000 + i * i % 9973 + (i % 40 == 7 ? 30'000 : 0));
    }
    if (in_order) std::ranges::sort(sizes);
    const auto all = std::make_shared<OfSizes>(sizes);
    for (const int64_t few : {20, 200, 2000})
      EXPECT_NEAR(mean_size(*representative_subset(all, few)) / mean_size(*all), 1, few < 100 ? 0.05 : 0.01) << few;
  }
}

TEST(FewSamples, OfALargeDataSetAreSpreadOverAllOfIt) {
  const auto all = std::make_shared<OfSizes>(std::vector<uint64_t>(1'000'000, 7));
  const auto few = representative_subset(all, 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(few->key(i), std::to_string(i * 250'000));
}

}  // namespace
}  // namespace forebay
