#include "study/sample_cost.h"

#include <algorithm>

#include "forebay/ledger.h"

namespace forebay {

namespace {

constexpr double kMostly = 0.5;  // share of waits from which the store is the limit

double total_cpu(const ThreadCpuStats& cpu) {
  return cpu.rows + cpu.row_groups + cpu.assembly + cpu.plan + cpu.engine + cpu.idle;
}

double storage_waits(const WaitStats& waits) { return waits.storage + waits.slot; }

double total_waits(const WaitStats& waits) {
  return storage_waits(waits) + waits.plan + waits.memory + waits.thread + waits.compute + waits.user + waits.assembly +
         waits.interpreter;
}

bool store_is_the_limit(const WaitStats& before, const WaitStats& after) {
  // Judged by the consumer's waits alone: a busy store need not delay the consumer.
  return storage_waits(after) - storage_waits(before) > kMostly * (total_waits(after) - total_waits(before));
}

StoreStats data_store_of(const Ledger& ledger) { return ledger.stores.empty() ? StoreStats() : ledger.stores.front(); }

}  // namespace

SampleCost cost_between(const Ledger& before, const Ledger& after, double rate) {
  const auto samples = static_cast<double>(after.samples - before.samples);
  // No sample came between the ledgers: all costs are 0, and nothing is divided.
  if (samples <= 0) return {};
  const StoreStats was = data_store_of(before), is = data_store_of(after);
  SampleCost cost{.cpu_seconds = (total_cpu(after.thread_cpu) - total_cpu(before.thread_cpu)) / samples,
                  .stored_bytes = static_cast<double>(is.bytes - was.bytes) / samples,
                  .stored_reads = static_cast<double>(is.requests - was.requests) / samples};
  // If the store is the limit, the whole time per sample is the store's, since work overlaps with
  // it. Otherwise the time that CPU work does not explain, such as locks or an operator that
  // sleeps, stays the same on any number of cores.
  if (store_is_the_limit(before.waits, after.waits))
    cost.store_seconds = 1 / rate;
  else
    cost.other_seconds = std::max(1 / rate - cost.cpu_seconds / std::max(after.threads, 1), 0.0);
  return cost;
}

SampleCost cost_of_work(double cpu_seconds, double rate, int threads, const SampleCost& reading) {
  SampleCost cost = reading;
  cost.cpu_seconds = cpu_seconds;
  cost.other_seconds = cost.store_seconds = 0;
  // Nothing was written, so there is no rate, and no time to divide up.
  if (rate <= 0) return cost;
  if (reading.store_seconds > 0)
    cost.store_seconds = 1 / rate;
  else
    cost.other_seconds = std::max(1 / rate - cpu_seconds / std::max(threads, 1), 0.0);
  return cost;
}

SampleCost scaled_cost(SampleCost cost, double factor) {
  for (double* seconds : {&cost.cpu_seconds, &cost.store_seconds, &cost.other_seconds}) *seconds /= factor;
  return cost;
}

double seconds_per_sample(const SampleCost& cost, int cores, const Elsewhere& store) {
  const double working = cost.cpu_seconds / std::max(cores, 1) + cost.other_seconds;
  // Without another store, the measured one keeps its time.
  if (!store.latency_seconds && !store.bytes_per_second) return std::max(working, cost.store_seconds);
  // Requests in flight share their latency; bytes share one line.
  const double answering = store.latency_seconds.value_or(0) * cost.stored_reads / store.requests;
  const double moving = store.bytes_per_second ? cost.stored_bytes / *store.bytes_per_second : 0;
  return std::max({working, answering, moving});
}

}  // namespace forebay
