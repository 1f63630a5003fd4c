#include "python/stats.h"

#include <map>

#include "python/text.h"

namespace forebay::python {

namespace {

nb::dict to_dict(const StepStats& step) {
  nb::dict dict;
  dict["name"] = to_text(step.name);
  dict["samples"] = step.samples;
  dict["bytes_in"] = step.bytes_in;
  dict["bytes_out"] = step.bytes_out;
  dict["busy_seconds"] = step.busy_seconds;
  dict["waiting_seconds"] = step.waiting_seconds;
  return dict;
}

nb::dict to_dict(const StoreStatsEntry& store) {
  nb::dict dict;
  dict["name"] = to_text(store.name);
  dict["requests"] = store.requests;
  dict["bytes"] = store.bytes;
  dict["errors"] = store.errors;
  dict["in_flight"] = store.in_flight;
  dict["attempts"] = store.attempts;
  dict["retries"] = store.retries;
  dict["throttled"] = store.throttled;
  dict["timeouts"] = store.timeouts;
  dict["hedges"] = store.hedges;
  dict["hedges_won"] = store.hedges_won;
  dict["seconds"] = store.seconds;
  return dict;
}

nb::dict memory(const LoaderStats& stats) {
  nb::dict dict;
  dict["budget"] = stats.memory_budget;
  dict["used"] = stats.memory_used;
  dict["peak"] = stats.memory_peak;
  dict["batches"] = stats.memory_batches;
  dict["fetched"] = stats.memory_fetched;
  dict["working"] = stats.memory_working;
  dict["pool"] = stats.memory_pool;
  dict["units"] = stats.memory_units;
  return dict;
}

nb::dict to_dict(const CacheTierStats& tier) {
  nb::dict dict;
  dict["hits"] = tier.hits;
  dict["entries"] = tier.entries;
  dict["bytes"] = tier.bytes;
  dict["budget_bytes"] = tier.budget_bytes;
  dict["declined"] = tier.declined;
  dict["damaged"] = tier.damaged;
  dict["off"] = to_text(tier.off);
  return dict;
}

nb::dict to_dict(const CacheStatsEntry& cache) {
  nb::dict dict;
  dict["place"] = to_text(cache.place);
  dict["description"] = to_text(cache.description);
  dict["ram"] = to_dict(cache.ram);
  dict["disk"] = to_dict(cache.disk);
  dict["misses"] = cache.misses;
  dict["index_bytes"] = cache.index_bytes;
  dict["seen_bytes"] = cache.seen_bytes;
  dict["hit_ratio"] = cache.hit_ratio;
  dict["optimum"] = cache.optimum;
  return dict;
}

// How many row groups were decoded how often.
nb::dict units(const LoaderStats& stats) {
  std::map<uint32_t, int64_t> times;
  int64_t decoded = 0;
  for (uint32_t count : stats.units) {
    ++times[count];
    decoded += count;
  }
  nb::dict histogram;
  for (const auto& [count, number] : times) histogram[nb::int_(count)] = number;
  nb::dict dict;
  dict["row_groups"] = stats.units.size();
  dict["decoded"] = decoded;
  dict["decoded_times"] = histogram;
  return dict;
}

}  // namespace

nb::dict to_dict(const LoaderStats& stats) {
  nb::list steps, stores, caches;
  for (const StepStats& step : stats.steps) steps.append(to_dict(step));
  for (const StoreStatsEntry& store : stats.stores) stores.append(to_dict(store));
  for (const CacheStatsEntry& cache : stats.caches) caches.append(to_dict(cache));
  nb::dict dict;
  dict["steps"] = steps;
  dict["stores"] = stores;
  dict["caches"] = caches;
  dict["memory_bytes"] = memory(stats);
  if (!stats.units.empty()) dict["units"] = units(stats);
  dict["index_bytes"] = stats.index_bytes;
  dict["threads"] = stats.threads;
  dict["requests"] = stats.requests;
  dict["batches"] = stats.batches;
  dict["samples"] = stats.samples;
  dict["errors"] = stats.errors;
  dict["retracted"] = stats.retracted;
  dict["consumer_wait_seconds"] = stats.consumer_wait_seconds;
  return dict;
}

nb::dict to_dict(const ErrorEntry& entry) {
  nb::dict dict;
  dict["sample"] = entry.sample;
  dict["key"] = to_text(entry.key);
  dict["operator"] = to_text(entry.op);
  dict["code"] = to_text(entry.code);
  dict["message"] = to_text(entry.message);
  dict["count"] = entry.count;
  return dict;
}

}  // namespace forebay::python
