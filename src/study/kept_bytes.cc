#include "study/kept_bytes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "cache/disk_tier.h"
#include "cache/segment_format.h"

namespace forebay {

namespace {

constexpr int64_t kMaxIds = 2'000'000;  // most ids that are looked up one by one
constexpr double kSlack = 1.05;         // factor: entries of other threads may be a little larger
constexpr double kLeastError = 1.15;    // least factor on an estimate with an interval
constexpr double kUnknownError = 1.5;   // factor on an estimate without an interval

struct RowGroups {
  double count = 0, bytes = 0;
};

// Row groups with at least one sample of this loader. Each is decoded and cached as a whole.
RowGroups row_groups_of(const Loader& loader) {
  const std::vector<int64_t> begins = loader.row_groups();
  const std::vector<uint64_t> bytes = loader.row_group_bytes();
  const RowGroups all{static_cast<double>(bytes.size()),
                      static_cast<double>(std::reduce(bytes.begin(), bytes.end(), uint64_t{0}))};
  // That many samples leave out hardly any row group, and looking up their ids would take long.
  if (loader.size() == begins.back() || loader.size() > kMaxIds) return all;
  const Result<EpochPlan> plan = loader.plan(0, 0, 1, std::numeric_limits<int64_t>::max());
  if (!plan.ok()) return all;
  std::vector<bool> seen(begins.size());
  RowGroups some;
  for (const PlannedStep& step : plan->first) {
    for (const int64_t id : step.ids) {
      const auto chunk = static_cast<size_t>(std::ranges::upper_bound(begins, id) - begins.begin()) - 1;
      if (chunk + 1 >= begins.size() || seen[chunk]) continue;
      seen[chunk] = true;
      some.count += 1;
      some.bytes += static_cast<double>(bytes[chunk]);
    }
  }
  return some;
}

}  // namespace

double cache_growth(const Loader& part, const Loader& all, uint64_t entries) {
  const auto kept = static_cast<double>(entries);
  if (part.row_groups().size() > 1) {
    const RowGroups some = row_groups_of(part);
    // One of several ranks caches only its share. For row groups of one row, both formulas agree.
    if (kept > 0 && kept <= some.count && some.bytes > 0)
      return row_groups_of(all).bytes / (some.bytes * kept / some.count);
  }
  return static_cast<double>(all.size()) * part.world_size() / static_cast<double>(std::max<int64_t>(part.size(), 1));
}

Estimate bytes_of_all(const Filling& filling, const Loader& part, const Loader& all) {
  const double growth = cache_growth(part, all, filling.entries);
  const double bytes = static_cast<double>(filling.entry_bytes) * growth;
  if (growth <= 1) return {bytes, bytes, bytes};
  const Estimate an_entry = ratio_of(filling.bytes, 1 / growth);
  return an_entry.value > 0 ? times(an_entry, bytes / an_entry.value) : Estimate{bytes};
}

uint64_t budget_for(const Estimate& bytes) {
  const double high = bytes.high.value_or(bytes.value * kUnknownError);
  const bool exact = bytes.low == bytes.value && bytes.high == bytes.value;
  return static_cast<uint64_t>((exact ? high : std::max(high, bytes.value * kLeastError)) * kSlack);
}

uint64_t disk_budget_for(const Estimate& bytes, double entries) {
  const double index = entries * static_cast<double>(kSegmentRowBytes);
  return budget_for({bytes.value + index, bytes.low ? std::optional(*bytes.low + index) : std::nullopt,
                     bytes.high ? std::optional(*bytes.high + index) : std::nullopt}) +
         DiskTier::kLeastBudget;
}

}  // namespace forebay
