#include "loader/loader_stats.h"

#include <numeric>
#include <string>
#include <utility>
#include <variant>

namespace forebay {

namespace {

// `rows`: of the CPU time that all steps together took of rows, for each nanosecond of those that were looked at.
StepStats step_stats(std::string name, const StepCounters& counters, double rows = 0) {
  const double busy_ns = static_cast<double>(counters.busy_ns) + rows * static_cast<double>(counters.looked_at_ns);
  return {std::move(name),    counters.samples, counters.bytes_in,
          counters.bytes_out, busy_ns * 1e-9,   static_cast<double>(counters.waiting_ns) * 1e-9};
}

// What a nanosecond of the rows that were looked at stands for.
double weight_of_rows(const ExecutionPlan& plan) {
  int64_t looked_at = plan.write_counters->looked_at_ns;
  for (const Stage& stage : plan.stages) {
    const auto* native = std::get_if<NativeStage>(&stage);
    for (size_t i = 0; native != nullptr && i < native->ops.size(); ++i)
      looked_at += native->ops[i].counters->looked_at_ns;
  }
  return looked_at > 0 ? static_cast<double>(*plan.rows_cpu_ns) / static_cast<double>(looked_at) : 0;
}

std::string place_of(const Store& store) {
  std::string place = store.display_name("");
  return !place.empty() ? place : store.remote() ? "http" : "files";
}

void add_stage(const Stage& stage, double rows, std::vector<StepStats>& steps) {
  if (const auto* foreign = std::get_if<ForeignStage>(&stage)) {
    steps.push_back(step_stats(foreign->name, *foreign->counters));
  } else if (const auto* cache = std::get_if<CacheStage>(&stage)) {
    steps.push_back(step_stats("cache", *cache->counters));
  } else {
    for (const NativeOp& op : std::get<NativeStage>(stage).ops)
      steps.push_back(step_stats(op.name, *op.counters, rows));
  }
}

WaitStats waits_of(const Waits::Parts& ns) {
  const auto seconds = [&](Awaited what) { return static_cast<double>(ns[static_cast<size_t>(what)]) * 1e-9; };
  return {seconds(Awaited::kPlan),   seconds(Awaited::kMemory),  seconds(Awaited::kSlot), seconds(Awaited::kStorage),
          seconds(Awaited::kThread), seconds(Awaited::kCompute), seconds(Awaited::kUser), seconds(Awaited::kAssembly)};
}

ThreadStats threads_of(const Runner::Stats& run) {
  const auto seconds = [&](Work what) { return static_cast<double>(run.threads_ns[static_cast<size_t>(what)]) * 1e-9; };
  const int64_t at_work = std::accumulate(run.threads_ns.begin(), run.threads_ns.end(), int64_t{0});
  return {seconds(Work::kRows), seconds(Work::kUnits),  seconds(Work::kAssembly),
          seconds(Work::kPlan), seconds(Work::kEngine), static_cast<double>(run.all_threads_ns - at_work) * 1e-9};
}

std::vector<TuningStats> tuning_of(const Runner::Stats& run) {
  std::vector<TuningStats> all;
  for (const RunTuning::Decision& each : run.decisions)
    all.push_back({static_cast<double>(each.at_ns) * 1e-9, each.what, each.from, each.to, each.reason});
  return all;
}

ThreadCpuStats cpu_of(const Runner::Stats& run) {
  const auto seconds = [&](Work what) {
    return static_cast<double>(run.threads_cpu_ns[static_cast<size_t>(what)]) * 1e-9;
  };
  return {seconds(Work::kRows), seconds(Work::kUnits),  seconds(Work::kAssembly),
          seconds(Work::kPlan), seconds(Work::kEngine), static_cast<double>(run.threads_idle_cpu_ns) * 1e-9};
}

std::vector<StepStats> stats_of_steps(const ExecutionPlan& plan) {
  std::vector<StepStats> steps;
  if (plan.units) {
    steps.push_back(step_stats("fetch", *plan.fetch_counters));
    steps.push_back(step_stats("decode", *plan.units->decode_counters));
    for (const UnitOp& op : plan.units->ops) steps.push_back(step_stats(op.name, *op.counters));
  }
  if (plan.fetches) steps.push_back(step_stats("fetch", *plan.fetch_counters));
  const double rows = weight_of_rows(plan);
  for (const Stage& stage : plan.stages) add_stage(stage, rows, steps);
  steps.push_back(step_stats("batch", *plan.write_counters, rows));
  return steps;
}

StoreStats stats_of(const Store& store) {
  StoreStats stats = store.stats();
  stats.name = place_of(store);
  return stats;
}

}  // namespace

void add_plan(const ExecutionPlan& plan, const std::vector<std::shared_ptr<TieredCache>>& caches, Ledger& stats) {
  stats.steps = stats_of_steps(plan);
  if (const Store* used = plan.store()) stats.stores.push_back(stats_of(*used));
  for (const auto& cache : caches) {
    stats.caches.push_back(cache->stats());
    if (const Store* disk = cache->disk()) stats.stores.push_back(stats_of(*disk));
  }
}

void add_wait_for_interpreter(int64_t ns, Ledger& stats) {
  stats.waits.interpreter = static_cast<double>(ns) * 1e-9;
  stats.consumer_wait_seconds += stats.waits.interpreter;
}

void add_run(const Runner& runner, Ledger& stats) {
  const Runner::Stats run = runner.stats();
  const auto used = [&](Use use) { return run.memory.by_use[static_cast<size_t>(use)]; };
  stats.memory_budget = run.memory.capacity;
  stats.memory_used = run.memory.used;
  stats.memory_peak = run.memory.peak;
  stats.memory_batches = used(Use::kBatches);
  stats.memory_fetched = used(Use::kFetched);
  stats.memory_working = used(Use::kWorking);
  stats.memory_units = used(Use::kUnits);
  stats.memory_pool = used(Use::kPool);
  stats.memory_index = used(Use::kIndex);
  stats.memory_caches = used(Use::kCaches);
  stats.memory_reads = used(Use::kReads);
  stats.memory_columns = used(Use::kColumns);
  stats.units = runner.decodes();
  stats.threads = run.threads;
  stats.requests = runner.request_limit();
  stats.batches = run.batches;
  stats.samples = run.samples;
  stats.retracted = run.retracted;
  for (const int64_t part : run.waits_ns) stats.consumer_wait_seconds += static_cast<double>(part) * 1e-9;
  stats.waits = waits_of(run.waits_ns);
  stats.thread_time = threads_of(run);
  stats.tuning = tuning_of(run);
  stats.thread_cpu = cpu_of(run);
  stats.elapsed_seconds = static_cast<double>(run.elapsed_ns) * 1e-9;
}

}  // namespace forebay
