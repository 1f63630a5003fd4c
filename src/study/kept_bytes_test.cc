#include "study/kept_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "pipeline/op_spec.h"
#include "study/changes.h"
#include "study/study_test_support.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

std::unique_ptr<Loader> open(const Pipeline& pipeline) {
  auto loader = Loader::open(pipeline, {});
  EXPECT_TRUE(loader.ok() && (*loader)->prepare().ok());
  return std::move(*loader);
}

std::unique_ptr<Loader> open_part(const Pipeline& pipeline, int64_t samples) {
  const Changed changed = with_cache(pipeline.description(), std::nullopt, {}, samples);
  return open(Pipeline(std::make_shared<const Description>(changed.description)));
}

Filling filling(uint64_t entries, uint64_t an_entry) {
  Filling filling{.entries = entries, .entry_bytes = entries * an_entry};
  for (uint64_t i = 0; i < entries; ++i) filling.bytes.push_back({1, static_cast<double>(an_entry)});
  return filling;
}

TEST(KeptBytes, GrowWithTheSamplesThatAreChosen) {
  const Pipeline all = numbers(1000, 4).batch(8);
  const auto whole = open(all);
  for (const int64_t part : {10, 100, 400, 1000})
    EXPECT_DOUBLE_EQ(cache_growth(*open_part(all, part), *whole, 10), 1000.0 / static_cast<double>(part));
  // Equal entries are stored once, so the total bytes are extrapolated, not the bytes per entry.
  EXPECT_DOUBLE_EQ(bytes_of_all(filling(50, 20), *open_part(all, 100), *whole).value, 10'000);
  // A pipeline that chooses samples caches only those, of a part and of all.
  const Pipeline chosen = numbers(1000, 4).take(600).batch(8);
  EXPECT_DOUBLE_EQ(cache_growth(*open(numbers(1000, 4).take(60).batch(8)), *open(chosen), 60), 10);
}

TEST(KeptBytes, OfEverythingAreExact) {
  const auto whole = open(numbers(100, 4).batch(8));
  const Estimate bytes = bytes_of_all(filling(100, 20), *whole, *whole);
  EXPECT_EQ(bytes.value, 2000);
  EXPECT_EQ(bytes.low, 2000);
  EXPECT_EQ(bytes.high, 2000);
}

TEST(KeptBytes, HaveABudgetWithRoomForTheirError) {
  EXPECT_EQ(budget_for({1000, 1000, 1000}), 1050) << "exact";
  EXPECT_GE(budget_for({1000, 990, 1010}), 1150) << "an estimate errs by more than its interval at times";
  EXPECT_GE(budget_for({1000, 200, 1800}), 1800);
  EXPECT_GE(budget_for({1000}), 1500) << "nothing is known of its error";
}

TEST(KeptBytes, OnADiskHaveABudgetThatHoldsAllOfThem) {
  for (const auto& [count, wide] : {std::pair<int64_t, int64_t>{3, 1}, {500, 1}, {500, 100}, {20'000, 1}}) {
    const auto folder = WorkingFolder::make();
    const auto filled = [&](uint64_t budget, const char* name) {
      const auto loader = open(numbers(count, wide)
                                   .map([](Sample&) { return Status(); }, {.version = "1"})
                                   .cache({.ram = uint64_t{0}, .disk = budget, .dir = folder->path() + name})
                                   .batch(50));
      const Result<Filling> filling = fill_what_fits(*loader, {});
      EXPECT_TRUE(filling.ok()) << filling.status().to_string();
      return *filling;
    };
    const Filling all = filled(1 << 30, "/large");
    ASSERT_EQ(all.declined, 0U);
    const auto bytes = static_cast<double>(all.entry_bytes);
    const Filling again = filled(disk_budget_for({bytes, bytes, bytes}, static_cast<double>(all.entries)), "/just");
    EXPECT_EQ(again.declined, 0U) << count;
    EXPECT_EQ(again.entry_bytes, all.entry_bytes);
  }
}

}  // namespace
}  // namespace forebay
