#include "study/blame.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/ledger.h"
#include "study/observation.h"

namespace forebay {

namespace {

constexpr double kFilledGain = 1.5;  // ratio of windows between which a cache became full

// If memory is too small, no work begins ahead, so the consumer seems to wait for that work.
void blame_memory(const TrialResults& trials, Diagnosis& diagnosis) {
  for (const Candidate& candidate : trials.tried) {
    const Remedy& remedy = candidate.remedy;
    // Only a change that lifted memory= can show it. Its worst round must gain too, so that noise
    // does not decide.
    if (!trials.options.resources.memory || remedy.options.resources.memory || remedy.gain.low < kWorthIt) continue;
    diagnosis.first.limit = Limit::kMemory;
    diagnosis.first.sentence = fmt::format(
        "memory={}: with as much as it asks for by itself it is {:.1f} times as fast. As it is, it looks like {}",
        format_byte_size(*trials.options.resources.memory), remedy.gain.middle, diagnosis.first.sentence);
  }
}

// Entries that are not cached yet are computed, so the consumer seems to wait for that computation.
void blame_cache(const TrialResults& trials, Diagnosis& diagnosis) {
  const uint64_t budget = cache_budget(trials.baseline);
  for (const Candidate& candidate : trials.tried) {
    const Gain& gain = candidate.remedy.gain;
    if (!candidate.filled || gain.low < kWorthIt) continue;
    diagnosis.first.limit = Limit::kCache;
    diagnosis.first.sentence = fmt::format(
        "cache: {:.0f} % of what was asked of .cache() it does not have{}; with all of it there it is {:.1f} times as "
        "fast. Until then it looks like {}",
        100 * (1 - cached_share(trials.baseline)), candidate.remedy.bytes > budget ? ", nor has it the room" : " yet",
        gain.middle, diagnosis.first.sentence);
  }
}

// Whether the cache became full between the windows: then some windows are far slower than others.
bool was_filled(const TrialResults& trials, const Diagnosis& diagnosis) {
  const Observation& seen = trials.baseline;
  if (seen.after.caches.empty() || seen.before.caches.empty()) return false;
  const auto has_all = [&](const Ledger& ledger) {
    double entries = 0;
    for (const CacheStats& cache : ledger.caches)
      entries += static_cast<double>(std::max(cache.ram.entries, cache.disk.entries));
    return entries >= kFullCache * static_cast<double>(trials.samples);
  };
  return !has_all(seen.before) && has_all(seen.after) && diagnosis.rate_high > kFilledGain * diagnosis.rate_low;
}

// Such waits occur only in a first epoch.
void blame_filling(const TrialResults& trials, Diagnosis& diagnosis) {
  if (!was_filled(trials, diagnosis)) return;
  diagnosis.first.limit = Limit::kCache;
  diagnosis.first.sentence = fmt::format(
      "cache: .cache() was being filled, at {:.0f} samples a second; with all of it there it gave {:.0f}. Until then "
      "it looks like {}",
      diagnosis.rate_low, diagnosis.rate_high, diagnosis.first.sentence);
}

}  // namespace

double cached_share(const Observation& seen) {
  if (seen.after.caches.empty()) return 1;
  double had = 0, missed = 0;
  const auto add = [&](const Ledger& ledger, double sign) {
    for (const CacheStats& cache : ledger.caches) {
      had += sign * static_cast<double>(cache.ram.hits + cache.disk.hits);
      missed += sign * static_cast<double>(cache.misses);
    }
  };
  add(seen.after, 1);
  add(seen.before, -1);
  return had + missed > 0 ? had / (had + missed) : 0;
}

uint64_t cache_budget(const Observation& seen) {
  uint64_t bytes = 0;
  for (const CacheStats& cache : seen.after.caches) bytes += std::max(cache.ram.budget_bytes, cache.disk.budget_bytes);
  return bytes;
}

void blame_from_trials(const TrialResults& trials, Diagnosis& diagnosis) {
  blame_memory(trials, diagnosis);
  if (diagnosis.first.limit != Limit::kMemory) blame_cache(trials, diagnosis);
  if (diagnosis.first.limit != Limit::kMemory && diagnosis.first.limit != Limit::kCache)
    blame_filling(trials, diagnosis);
}

}  // namespace forebay
