#include "serve/server/carried_counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "forebay/ledger.h"

namespace forebay {

namespace {

constexpr size_t kMaxDecisions = 64;  // as many as a loader reports

void carry_histogram(const Histogram& before, Histogram& now) {
  if (before.bounds.empty() || (!now.bounds.empty() && before.bounds != now.bounds)) return;
  now.bounds = before.bounds;
  now.counts.resize(before.counts.size());
  for (size_t i = 0; i < before.counts.size(); ++i) now.counts[i] += before.counts[i];
  now.sum += before.sum;
}

void carry_step(const StepStats& before, StepStats& now) {
  now.samples += before.samples;
  now.bytes_in += before.bytes_in;
  now.bytes_out += before.bytes_out;
  now.busy_seconds += before.busy_seconds;
  // The two were sampled independently.
  now.busy_uncertainty_seconds = std::hypot(now.busy_uncertainty_seconds, before.busy_uncertainty_seconds);
  now.waiting_seconds += before.waiting_seconds;
}

// Adds steps of equal names in their order. Steps of a cache that only one loader has are skipped.
void carry_steps(const std::vector<StepStats>& before, std::vector<StepStats>& now) {
  auto at = now.begin();
  for (const StepStats& step : before) {
    const auto same = std::find_if(at, now.end(), [&](const StepStats& each) { return each.name == step.name; });
    if (same == now.end()) continue;
    carry_step(step, *same);
    at = same + 1;
  }
}

void carry_store(const StoreStats& before, StoreStats& now) {
  for (const auto counter :
       {&StoreStats::requests, &StoreStats::listings, &StoreStats::heads, &StoreStats::opens, &StoreStats::immediate,
        &StoreStats::waited, &StoreStats::bytes, &StoreStats::errors, &StoreStats::attempts, &StoreStats::retries,
        &StoreStats::throttled, &StoreStats::timeouts, &StoreStats::hedges, &StoreStats::hedges_won})
    now.*counter += before.*counter;
  now.seconds += before.seconds;
  carry_histogram(before.read_bytes, now.read_bytes);
  carry_histogram(before.latency_seconds, now.latency_seconds);
}

// Complete passes are counted from the position, and not from when the loader was opened.
void carry_parts(const std::vector<PartStats>& before, std::vector<PartStats>& now) {
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    now[i].samples += before[i].samples;
    now[i].bytes += before[i].bytes;
    now[i].waiting_seconds += before[i].waiting_seconds;
  }
}

void carry_waits(const WaitStats& before, WaitStats& now) {
  for (const auto part :
       {&WaitStats::plan, &WaitStats::arrival, &WaitStats::memory, &WaitStats::slot, &WaitStats::storage,
        &WaitStats::thread, &WaitStats::compute, &WaitStats::user, &WaitStats::assembly, &WaitStats::interpreter})
    now.*part += before.*part;
}

template <typename Times>
void carry_times(const Times& before, Times& now) {
  for (const auto part :
       {&Times::rows, &Times::row_groups, &Times::assembly, &Times::plan, &Times::engine, &Times::idle})
    now.*part += before.*part;
}

void carry_tuning(const Ledger& before, Ledger& now) {
  for (TuningStats& decision : now.tuning) decision.seconds += before.elapsed_seconds;
  now.tuning.insert(now.tuning.begin(), before.tuning.begin(), before.tuning.end());
  const size_t beyond = now.tuning.size() - std::min(now.tuning.size(), kMaxDecisions);
  now.tuning.erase(now.tuning.begin(), now.tuning.begin() + static_cast<std::ptrdiff_t>(beyond));
}

}  // namespace

void carry_counters(const Ledger& before, Ledger& now, bool same_store) {
  carry_steps(before.steps, now.steps);
  carry_parts(before.parts, now.parts);
  // The first store is that of the data set. The others are disks of caches.
  if (!same_store && !before.stores.empty() && !now.stores.empty() &&
      before.stores.front().name == now.stores.front().name)
    carry_store(before.stores.front(), now.stores.front());
  for (size_t i = 0; i < std::min(before.chunks.size(), now.chunks.size()); ++i) now.chunks[i] += before.chunks[i];
  for (const auto counter : {&Ledger::batches, &Ledger::samples, &Ledger::errors, &Ledger::reclaimed})
    now.*counter += before.*counter;
  now.memory_peak = std::max(now.memory_peak, before.memory_peak);
  now.consumer_wait_seconds += before.consumer_wait_seconds;
  carry_waits(before.waits, now.waits);
  carry_times(before.thread_time, now.thread_time);
  carry_times(before.thread_cpu, now.thread_cpu);
  carry_tuning(before, now);
  now.elapsed_seconds += before.elapsed_seconds;
}

}  // namespace forebay
