#include "telemetry/ledger_since.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "forebay/ledger.h"

namespace forebay {

namespace {

// Counters of a loader that another process has are read one after another and may seem to fall.
template <typename T>
void subtract(T& later, T earlier) {
  later = later > earlier ? later - earlier : T{0};
}

template <typename T, typename... Members>
void subtract_members(T& later, const T& earlier, Members... members) {
  (subtract(later.*members, earlier.*members), ...);
}

void subtract(Histogram& later, const Histogram& earlier) {
  if (earlier.counts.size() != later.counts.size()) return;  // nothing was counted before
  for (size_t i = 0; i < later.counts.size(); ++i) subtract(later.counts[i], earlier.counts[i]);
  subtract(later.sum, earlier.sum);
}

void subtract(StepStats& later, const StepStats& earlier) {
  using S = StepStats;
  subtract_members(later, earlier, &S::samples, &S::bytes_in, &S::bytes_out, &S::busy_seconds, &S::waiting_seconds);
  // Rows are sampled independently, so that variances add up.
  const double was = earlier.busy_uncertainty_seconds, is = later.busy_uncertainty_seconds;
  later.busy_uncertainty_seconds = std::sqrt(std::max(is * is - was * was, 0.0));
}

void subtract(PartStats& later, const PartStats& earlier) {
  subtract_members(later, earlier, &PartStats::samples, &PartStats::bytes, &PartStats::waiting_seconds);
}

void subtract(StoreStats& later, const StoreStats& earlier) {
  using S = StoreStats;
  subtract_members(later, earlier, &S::requests, &S::listings, &S::heads, &S::opens, &S::immediate, &S::waited,
                   &S::bytes, &S::errors, &S::attempts, &S::retries, &S::throttled, &S::timeouts, &S::hedges,
                   &S::hedges_won, &S::seconds);
  subtract(later.read_bytes, earlier.read_bytes);
  subtract(later.latency_seconds, earlier.latency_seconds);
}

void subtract(TierStats& later, const TierStats& earlier) {
  subtract_members(later, earlier, &TierStats::hits, &TierStats::declined, &TierStats::damaged);
}

void subtract(CacheStats& later, const CacheStats& earlier) {
  subtract(later.ram, earlier.ram);
  subtract(later.disk, earlier.disk);
  subtract_members(later, earlier, &CacheStats::misses, &CacheStats::peer_hits);
}

void subtract(PartitionStats& later, const PartitionStats& earlier) { subtract(later.dropped, earlier.dropped); }

template <typename T>
void subtract(std::vector<T>& later, const std::vector<T>& earlier) {
  for (size_t i = 0; i < std::min(later.size(), earlier.size()); ++i) subtract(later[i], earlier[i]);
}

void subtract(StreamStats& later, const StreamStats& earlier) {
  using S = StreamStats;
  subtract_members(later, earlier, &S::arrived, &S::trimmed, &S::missing, &S::from_ranks, &S::reread, &S::old_lent,
                   &S::old_reread, &S::old_lost, &S::reconnects);
  subtract(later.partitions, earlier.partitions);
}

void subtract(RehearsalStats& later, const RehearsalStats& earlier) {
  subtract_members(later, earlier, &RehearsalStats::hits, &RehearsalStats::misses);
}

void subtract(WaitStats& later, const WaitStats& earlier) {
  using S = WaitStats;
  subtract_members(later, earlier, &S::plan, &S::arrival, &S::memory, &S::slot, &S::storage, &S::thread, &S::compute,
                   &S::user, &S::assembly, &S::interpreter);
}

template <typename Threads>
void subtract_threads(Threads& later, const Threads& earlier) {
  subtract_members(later, earlier, &Threads::rows, &Threads::row_groups, &Threads::assembly, &Threads::plan,
                   &Threads::engine, &Threads::idle);
}

}  // namespace

WaitStats waits_since(const WaitStats& before, const WaitStats& after) {
  WaitStats since = after;
  subtract(since, before);
  return since;
}

Ledger ledger_since(const Ledger& before, const Ledger& after) {
  Ledger since = after;
  subtract(since.steps, before.steps);
  subtract(since.parts, before.parts);
  subtract(since.stores, before.stores);
  subtract(since.caches, before.caches);
  subtract(since.chunks, before.chunks);
  if (since.stream && before.stream) subtract(*since.stream, *before.stream);
  if (since.rehearsal && before.rehearsal) subtract(*since.rehearsal, *before.rehearsal);
  subtract_members(since, before, &Ledger::batches, &Ledger::samples, &Ledger::errors, &Ledger::reclaimed,
                   &Ledger::consumer_wait_seconds, &Ledger::elapsed_seconds);
  subtract(since.waits, before.waits);
  subtract_threads(since.thread_time, before.thread_time);
  subtract_threads(since.thread_cpu, before.thread_cpu);
  return since;
}

}  // namespace forebay
