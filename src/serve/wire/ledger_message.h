#pragma once

#include "forebay/ledger.h"
#include "serve/wire/archive.h"

namespace forebay {

// Encodes a ledger that the server sends to a client.

template <typename Archive>
void fields(Archive& archive, Histogram& value) {
  archive(value.bounds, value.counts, value.sum);
}

template <typename Archive>
void fields(Archive& archive, StepStats& value) {
  archive(value.name, value.samples, value.bytes_in, value.bytes_out, value.busy_seconds,
          value.busy_uncertainty_seconds, value.waiting_seconds);
}

template <typename Archive>
void fields(Archive& archive, PartStats& value) {
  archive(value.name, value.samples, value.passes, value.bytes, value.waiting_seconds);
}

template <typename Archive>
void fields(Archive& archive, StoreStats& value) {
  archive(value.name, value.requests, value.listings, value.heads, value.opens, value.immediate, value.waited,
          value.bytes, value.errors, value.in_flight, value.attempts, value.retries, value.throttled, value.timeouts,
          value.hedges, value.hedges_won, value.seconds, value.read_bytes, value.latency_seconds);
}

template <typename Archive>
void fields(Archive& archive, TierStats& value) {
  archive(value.hits, value.entries, value.bytes, value.budget_bytes, value.declined, value.damaged, value.off);
}

template <typename Archive>
void fields(Archive& archive, CacheStats& value) {
  archive(value.place, value.description, value.ram, value.disk, value.misses, value.peer_hits, value.index_bytes,
          value.seen_bytes, value.hit_ratio, value.optimum);
}

template <typename Archive>
void fields(Archive& archive, WaitStats& value) {
  archive(value.plan, value.arrival, value.memory, value.slot, value.storage, value.thread, value.compute, value.user,
          value.assembly, value.interpreter);
}

template <typename Archive>
void fields(Archive& archive, ThreadStats& value) {
  archive(value.rows, value.row_groups, value.assembly, value.plan, value.engine, value.idle);
}

template <typename Archive>
void fields(Archive& archive, ThreadCpuStats& value) {
  archive(value.rows, value.row_groups, value.assembly, value.plan, value.engine, value.idle);
}

template <typename Archive>
void fields(Archive& archive, TuningStats& value) {
  archive(value.seconds, value.what, value.from, value.to, value.reason);
}

template <typename Archive>
void fields(Archive& archive, Ledger& value) {
  archive(value.steps, value.parts, value.stores, value.caches, value.memory_budget, value.memory_used,
          value.memory_peak);
  archive(value.memory_batches, value.memory_fetched, value.memory_working, value.memory_pool, value.memory_chunks,
          value.memory_index, value.memory_caches, value.memory_reads, value.memory_columns);
  archive(value.chunks, value.index_bytes, value.threads, value.requests, value.batches, value.samples, value.errors,
          value.reclaimed, value.consumer_wait_seconds, value.waits, value.thread_time, value.thread_cpu, value.tuning,
          value.elapsed_seconds);
}

}  // namespace forebay
