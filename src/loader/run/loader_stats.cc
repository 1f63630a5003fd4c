#include "loader/run/loader_stats.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "forebay/ledger.h"

namespace forebay {

namespace {

/// Estimate of a step's share of the CPU time of all rows.
struct CpuEstimate {
  double ns = 0;
  double half_width = 0;  // of the 95 % confidence interval
};

// In each class of rows, a step's share is a ratio of two sums over the sampled rows. Its variance
// is that of the deviations of the rows' parts from this share (W. G. Cochran, Sampling Techniques,
// 3rd ed., 6.3 and 6.11). Returns twice its root, the half-width of the 95 % confidence interval.
double share_half_width(const StepCounters::MeasuredTime& seen, const RowCounters::Class& rows, double share) {
  const auto count = static_cast<double>(rows.measured);
  const double differing = seen.squares - 2 * share * seen.products + share * share * rows.measured_squares;
  return 2 * std::sqrt(std::max(differing, 0.0) * count / (count - 1)) / static_cast<double>(rows.measured_ns);
}

CpuEstimate row_time_of(const StepCounters& step, const RowCounters& rows) {
  double ns = 0, measured_ns = 0;
  for (size_t i = 0; i < kRowClasses; ++i) {
    ns += static_cast<double>(step.measured[i].ns);
    measured_ns += static_cast<double>(rows.classes[i].measured_ns);
  }
  CpuEstimate estimate;
  if (ns == 0) return estimate;
  double squares = 0;
  for (size_t i = 0; i < kRowClasses; ++i) {
    const RowCounters::Class& of_class = rows.classes[i];
    const auto all_ns = static_cast<double>(of_class.cpu_ns);
    const bool seen = of_class.measured_ns > 0;
    // A class without sampled rows is assumed to have the same share as the others.
    const double share =
        seen ? static_cast<double>(step.measured[i].ns) / static_cast<double>(of_class.measured_ns) : ns / measured_ns;
    estimate.ns += share * all_ns;
    // A single sampled row says nothing about the others: all or none of their time may be this
    // step's.
    const double half_width =
        of_class.measured < 2 ? std::max(share, 1 - share) : share_half_width(step.measured[i], of_class, share);
    squares += std::pow(half_width * all_ns, 2);
  }
  estimate.half_width = std::sqrt(squares);
  return estimate;
}

StepStats step_stats(std::string name, const StepCounters& counters, const RowCounters* rows = nullptr) {
  const CpuEstimate of_rows = rows != nullptr ? row_time_of(counters, *rows) : CpuEstimate();
  return {std::move(name),
          counters.samples,
          counters.bytes_in,
          counters.bytes_out,
          (static_cast<double>(counters.busy_ns) + of_rows.ns) * 1e-9,
          of_rows.half_width * 1e-9,
          static_cast<double>(counters.waiting_ns) * 1e-9};
}

std::string place_of(const Store& store) {
  std::string place = store.display_name("");
  return !place.empty() ? place : store.remote() ? "http" : "files";
}

void add_stage(const Stage& stage, const RowCounters& rows, std::vector<StepStats>& steps) {
  if (const auto* foreign = std::get_if<ForeignStage>(&stage)) {
    steps.push_back(step_stats(foreign->name, *foreign->counters));
  } else if (const auto* keyed = std::get_if<KeyedStage>(&stage)) {
    steps.push_back(step_stats(keyed->name, *keyed->counters));
  } else {
    for (const NativeOp& op : std::get<NativeStage>(stage).ops)
      steps.push_back(step_stats(op.name, *op.counters, &rows));
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
  return {seconds(Work::kRows), seconds(Work::kChunks), seconds(Work::kAssembly),
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
  return {seconds(Work::kRows), seconds(Work::kChunks), seconds(Work::kAssembly),
          seconds(Work::kPlan), seconds(Work::kEngine), static_cast<double>(run.threads_idle_cpu_ns) * 1e-9};
}

std::vector<StepStats> stats_of_steps(const BranchPlan& plan) {
  std::vector<StepStats> steps;
  if (plan.chunks) {
    steps.push_back(step_stats("fetch", *plan.fetch_counters));
    steps.push_back(step_stats("decode", *plan.chunks->decode_counters));
    for (const ChunkOp& op : plan.chunks->ops) steps.push_back(step_stats(op.name, *op.counters));
  }
  if (plan.fetches) steps.push_back(step_stats("fetch", *plan.fetch_counters));
  for (const Stage& stage : plan.stages) add_stage(stage, *plan.row_counters, steps);
  // The thread that makes a row also writes it into its batch, so writing is a share of rows' time
  // too.
  steps.push_back(step_stats("batch", *plan.write_counters, plan.row_counters.get()));
  if (plan.packing)
    for (const auto& op : plan.packing->ops) steps.push_back(step_stats(op->name, *op->counters));
  if (!plan.name.empty()) {
    for (StepStats& step : steps) step.name = plan.name + "/" + step.name;
  }
  return steps;
}

StoreStats stats_of(const Store& store) {
  StoreStats stats = store.stats();
  stats.name = place_of(store);
  return stats;
}

}  // namespace

void add_plan(const ExecutionPlan& plan, Ledger& stats) {
  std::set<const Store*> stores;
  for (const auto& branch : plan.branches()) {
    std::ranges::move(stats_of_steps(*branch), std::back_inserter(stats.steps));
    for (const Store* const used : branch->stores())
      if (stores.insert(used).second) stats.stores.push_back(stats_of(*used));
  }
  for (const BatchStage& stage : plan.batch_stages()) stats.steps.push_back(step_stats(stage.name, *stage.counters));
}

void add_caches(const std::vector<std::shared_ptr<TieredCache>>& caches, Ledger& stats) {
  for (const auto& cache : caches) {
    stats.caches.push_back(cache->stats());
    if (const Store* disk = cache->disk()) stats.stores.push_back(stats_of(*disk));
  }
}

void add_parts(const ExecutionPlan& plan, const Runner& runner, std::span<const int64_t> passes, Ledger& stats) {
  if (plan.size() == 1) return;
  const std::vector<int64_t> samples = runner.stats().branch_samples;
  for (size_t i = 0; i < plan.size(); ++i) {
    const BranchPlan& branch = plan.branch(i);
    int64_t waiting_ns = branch.fetch_counters->waiting_ns;
    for (const Stage& stage : branch.stages) {
      if (const auto* foreign = std::get_if<ForeignStage>(&stage)) waiting_ns += foreign->counters->waiting_ns;
    }
    stats.parts.push_back({.name = branch.name,
                           .samples = samples[i],
                           .passes = passes[i],
                           .bytes = branch.write_counters->bytes_out,
                           .waiting_seconds = static_cast<double>(waiting_ns) * 1e-9});
  }
}

void add_wait_for_interpreter(int64_t ns, Ledger& stats) {
  stats.waits.interpreter = static_cast<double>(ns) * 1e-9;
  stats.consumer_wait_seconds += stats.waits.interpreter;
}

void add_run(const Runner& runner, Ledger& stats) {
  const Runner::Stats run = runner.stats();
  stats.memory_budget = run.memory.capacity;
  stats.memory_used = run.memory.used;
  stats.memory_peak = run.memory.peak;
  stats.memory_batches = run.memory.of(Use::kBatches);
  stats.memory_fetched = run.memory.of(Use::kFetched);
  stats.memory_working = run.memory.of(Use::kWorking);
  stats.memory_chunks = run.memory.of(Use::kChunks);
  stats.memory_pool = run.memory.of(Use::kPool);
  stats.memory_index = run.memory.of(Use::kIndex);
  stats.memory_caches = run.memory.of(Use::kCaches);
  stats.memory_reads = run.memory.of(Use::kReads);
  stats.memory_columns = run.memory.of(Use::kColumns);
  stats.chunks = runner.decodes();
  stats.threads = run.threads;
  stats.requests = runner.request_limit();
  stats.batches = run.batches;
  stats.samples = run.samples;
  stats.reclaimed = run.reclaimed;
  for (const int64_t part : run.waits_ns) stats.consumer_wait_seconds += static_cast<double>(part) * 1e-9;
  stats.waits = waits_of(run.waits_ns);
  stats.thread_time = threads_of(run);
  stats.tuning = tuning_of(run);
  stats.thread_cpu = cpu_of(run);
  stats.elapsed_seconds = static_cast<double>(run.elapsed_ns) * 1e-9;
}

}  // namespace forebay
