#include "loader/loader_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

namespace forebay {

namespace {

// The CPU time of all rows, and of those that were looked at: how that divides among the steps is known of these.
struct RowsSeen {
  double all_ns = 0, looked_at_ns = 0;
  double rows = 0, squares = 0;  // of those that were looked at; ns²
};

RowsSeen rows_of(const ExecutionPlan& plan) {
  int64_t looked_at = plan.write_counters->looked_at_ns;
  for (const Stage& stage : plan.stages) {
    const auto* native = std::get_if<NativeStage>(&stage);
    for (size_t i = 0; native != nullptr && i < native->ops.size(); ++i)
      looked_at += native->ops[i].counters->looked_at_ns;
  }
  const RowCounters& counters = *plan.row_counters;
  return {static_cast<double>(counters.cpu_ns), static_cast<double>(looked_at), static_cast<double>(counters.looked_at),
          counters.looked_at_squares};
}

// A step's share is a ratio of two sums over a sample of rows; its variance is that of what the rows' parts differ from that share by
// (W. G. Cochran, Sampling Techniques, 3rd ed., 6.3). Twice its root: 95 of 100 times the share is not further off.
double uncertainty_ns(const StepCounters& counters, const RowsSeen& rows) {
  if (rows.looked_at_ns <= 0 || counters.looked_at_ns == 0) return 0;
  const double share = static_cast<double>(counters.looked_at_ns) / rows.looked_at_ns;
  const double part = share * rows.all_ns;
  if (rows.rows < 2) return part;
  const double differing =
      counters.looked_at_squares - 2 * share * counters.looked_at_products + share * share * rows.squares;
  const double of_share = 2 * std::sqrt(std::max(differing, 0.0) * rows.rows / (rows.rows - 1)) / rows.looked_at_ns;
  return std::min(of_share * rows.all_ns, part);
}

StepStats step_stats(std::string name, const StepCounters& counters, const RowsSeen& rows = {}) {
  const double of_rows =
      rows.looked_at_ns > 0 ? rows.all_ns * static_cast<double>(counters.looked_at_ns) / rows.looked_at_ns : 0;
  return {std::move(name),
          counters.samples,
          counters.bytes_in,
          counters.bytes_out,
          (static_cast<double>(counters.busy_ns) + of_rows) * 1e-9,
          uncertainty_ns(counters, rows) * 1e-9,
          static_cast<double>(counters.waiting_ns) * 1e-9};
}

std::string place_of(const Store& store) {
  std::string place = store.display_name("");
  return !place.empty() ? place : store.remote() ? "http" : "files";
}

void add_stage(const Stage& stage, bool rehearses, const RowsSeen& rows, std::vector<StepStats>& steps) {
  if (const auto* foreign = std::get_if<ForeignStage>(&stage)) {
    steps.push_back(step_stats(foreign->name, *foreign->counters));
  } else if (const auto* cache = std::get_if<CacheStage>(&stage)) {
    steps.push_back(step_stats(rehearses ? "rehearse" : "cache", *cache->counters));
  } else {
    for (const NativeOp& op : std::get<NativeStage>(stage).ops)
      steps.push_back(step_stats(op.name, *op.counters, rows));
  }
}

WaitStats waits_of(const Waits::Parts& ns) {
  const auto seconds = [&](Awaited what) { return static_cast<double>(ns[static_cast<size_t>(what)]) * 1e-9; };
  return {.plan = seconds(Awaited::kPlan),
          .arrival = seconds(Awaited::kArrival),
          .memory = seconds(Awaited::kMemory),
          .slot = seconds(Awaited::kSlot),
          .storage = seconds(Awaited::kStorage),
          .thread = seconds(Awaited::kThread),
          .compute = seconds(Awaited::kCompute),
          .user = seconds(Awaited::kUser),
          .assembly = seconds(Awaited::kAssembly)};
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
  const RowsSeen rows = rows_of(plan);
  for (size_t i = 0; i < plan.stages.size(); ++i) add_stage(plan.stages[i], plan.rehearsal_stage == i, rows, steps);
  // Rows are written into their batch on the thread that made them, so its share is one of the rows' time, too.
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
