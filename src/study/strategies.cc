#include "study/strategies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "pipeline/op_spec.h"
#include "study/kept_bytes.h"
#include "study/part_pipelines.h"

namespace forebay {

namespace {

Json cache_args(const Strategy& strategy, uint64_t bytes) {
  Json args = {{"ram", strategy.tier == StrategyTier::kMemory ? bytes : 0},
               {"disk", strategy.tier == StrategyTier::kDisk ? bytes : 0}};
  if (!strategy.compression.empty()) args["compression"] = strategy.compression;
  return args;
}

std::vector<size_t> cut_steps(const Description& description, const Strategy& kind) {
  if (kind.tier != StrategyTier::kFiles) {
    // Checked with a size other than 0, which would mean no cache.
    return cache_places(description, cache_args(kind, UINT64_C(1) << 30));
  }
  // A result that may be cached in memory may be written to files, as in materialize_cuts().
  std::vector<size_t> steps = cache_places(description, {{"ram", UINT64_C(1) << 30}, {"disk", 0}});
  // A cut is named by its step, and a name means the last step of that name.
  const std::vector<NumberedStep> named = numbered_steps(description);
  std::erase_if(steps, [&](size_t step) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](size_t later) { return later > step && named[later].step->name == named[step].step->name; });
  });
  return steps;
}

// If all are equal, each gets 1; this also avoids a division by 0.
double part(double value, double worst, double best) { return best == worst ? 1 : (value - worst) / (best - worst); }

// Whether `a` is at least as good as `b` in all three figures, and better in one.
bool dominates(const Strategy& a, const Strategy& b) {
  const std::array worse = {a.bytes.value - b.bytes.value, a.preparation_seconds.value - b.preparation_seconds.value,
                            b.rate.value - a.rate.value};
  return std::all_of(worse.begin(), worse.end(), [](double by) { return by <= 0; }) &&
         std::any_of(worse.begin(), worse.end(), [](double by) { return by < 0; });
}

// A cache costs extra time in the first epoch; each later epoch saves time. Files are written in
// advance, so the first epoch already reads them.
std::optional<double> pays_after(const Strategy& strategy, const Strategy& unchanged, double size) {
  if (strategy.tier == StrategyTier::kNothing || strategy.rate.value <= unchanged.rate.value) return std::nullopt;
  const double plain = size / unchanged.rate.value;
  if (strategy.tier == StrategyTier::kFiles)
    return std::max(std::ceil(strategy.preparation_seconds.value / (plain - size / strategy.rate.value)), 1.0);
  const double extra = std::max(strategy.preparation_seconds.value - plain, 0.0);
  // A cache saves nothing before the second epoch.
  return std::max(std::ceil(1 + extra / (plain - size / strategy.rate.value)), 2.0);
}

template <typename Figure>
std::pair<double, double> range_of(const std::vector<Strategy>& strategies, const Figure& figure) {
  double least = figure(strategies.front()), most = least;
  for (const Strategy& strategy : strategies) {
    least = std::min(least, figure(strategy));
    most = std::max(most, figure(strategy));
  }
  return {least, most};
}

}  // namespace

std::string strategy_name(const std::string& step, StrategyTier tier, const std::string& compression) {
  if (tier == StrategyTier::kFiles) return fmt::format("files behind {}", step);
  return fmt::format("cache behind {}, {}{}", step, tier == StrategyTier::kMemory ? "in memory" : "on disk",
                     compression.empty() ? "" : ", " + compression);
}

std::optional<ProfileWeights> weights_named(std::string_view name) {
  if (name == "throughput") return ProfileWeights{0, 0, 1};
  if (name == "deadline") return ProfileWeights{1, 0, 1};
  if (name == "storage") return ProfileWeights{0, 1, 1};
  return std::nullopt;
}

std::vector<Strategy> strategies_for(const Description& description, bool files) {
  std::vector<Strategy> strategies;
  const std::vector<NumberedStep> named = numbered_steps(description);
  constexpr std::array<std::pair<StrategyTier, const char*>, 5> kKinds = {{{StrategyTier::kMemory, ""},
                                                                           {StrategyTier::kDisk, ""},
                                                                           {StrategyTier::kFiles, ""},
                                                                           {StrategyTier::kDisk, "lz4"},
                                                                           {StrategyTier::kDisk, "zstd"}}};
  for (const auto& [tier, compression] : kKinds) {
    if (tier == StrategyTier::kFiles && !files) continue;
    const Strategy kind{.name = {}, .behind = {}, .tier = tier, .compression = compression};
    const std::vector<size_t> steps = cut_steps(description, kind);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      strategies.push_back({.name = strategy_name(named[*step].name(), tier, compression),
                            .behind = *step,
                            .tier = tier,
                            .compression = compression});
  }
  return strategies;
}

Changed for_trial(const Description& description, const Strategy& strategy, std::optional<int64_t> samples,
                  uint64_t bytes, const std::string& folder) {
  Json args = cache_args(strategy, bytes);
  if (strategy.tier == StrategyTier::kDisk) args["dir"] = folder;
  return with_cache(description, strategy.behind, args, samples);
}

Json written_cache_args(const Strategy& strategy, const std::string& folder) {
  // A cache that is slightly too small would decline samples in every epoch.
  const bool on_disk = strategy.tier == StrategyTier::kDisk;
  Json args =
      cache_args(strategy, on_disk ? disk_budget_for(strategy.bytes, strategy.entries) : budget_for(strategy.bytes));
  if (!folder.empty() && on_disk) args["dir"] = folder;
  return args;
}

Changed as_written(const Description& description, const Strategy& strategy, const std::string& folder) {
  return with_cache(description, strategy.behind, written_cache_args(strategy, folder), std::nullopt);
}

Estimate mixed_rate(double fits, const Estimate& kept, const Estimate& without) {
  // A weighted harmonic mean: times add up, rates do not.
  const auto mixed = [&](double a, double b) { return 1 / (fits / a + (1 - fits) / b); };
  Estimate rate{mixed(kept.value, without.value)};
  if (kept.low && without.low && *kept.low > 0 && *without.low > 0) rate.low = mixed(*kept.low, *without.low);
  if (kept.high && without.high) rate.high = mixed(*kept.high, *without.high);
  return rate;
}

void limit_to_room(Strategy& strategy, double room_bytes, const Estimate& rate_without) {
  if (strategy.bytes.value <= room_bytes) return;
  strategy.fits = room_bytes / strategy.bytes.value;
  strategy.rate = mixed_rate(strategy.fits, strategy.rate, rate_without);
}

void rank_strategies(std::vector<Strategy>& strategies, const ProfileWeights& weights, int64_t size, double alike) {
  const auto preparing = [](const Strategy& one) { return one.preparation_seconds.value; };
  const auto bytes = [](const Strategy& one) { return one.bytes.value; };
  const auto rate = [](const Strategy& one) { return one.rate.value; };
  const auto [soonest, latest] = range_of(strategies, preparing);
  const auto [smallest, largest] = range_of(strategies, bytes);
  const auto [slowest, fastest] = range_of(strategies, rate);
  const Strategy unchanged = *std::find_if(strategies.begin(), strategies.end(),
                                           [](const Strategy& one) { return one.tier == StrategyTier::kNothing; });
  const double all = weights.preparation + weights.storage + weights.throughput;
  for (Strategy& one : strategies) {
    one.score = (weights.preparation * part(preparing(one), latest, soonest) +
                 weights.storage * part(bytes(one), largest, smallest) +
                 weights.throughput * part(rate(one), slowest, fastest)) /
                all;
    one.pays_after = pays_after(one, unchanged, static_cast<double>(size));
    one.best_of_its_kind = std::none_of(strategies.begin(), strategies.end(),
                                        [&](const Strategy& other) { return dominates(other, one); });
  }
  std::stable_sort(strategies.begin(), strategies.end(),
                   [](const Strategy& a, const Strategy& b) { return a.score > b.score; });
  const double best = strategies.front().score;
  // Scores this near the best differ by noise. Among these, less space is better, and no work in
  // advance.
  const auto behind =
      std::find_if(strategies.begin(), strategies.end(), [&](const Strategy& one) { return one.score < best - alike; });
  std::stable_sort(strategies.begin(), behind, [&](const Strategy& a, const Strategy& b) {
    const bool files = a.tier == StrategyTier::kFiles, others = b.tier == StrategyTier::kFiles;
    return files != others ? others : bytes(a) < bytes(b);
  });
}

}  // namespace forebay
