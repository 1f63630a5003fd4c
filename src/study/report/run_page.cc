#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "study/report/pages.h"
#include "telemetry/ledger_report.h"

namespace forebay {

namespace {

std::string bytes_text(uint64_t bytes) { return format_figure(static_cast<double>(bytes), PlotUnit::kBytes); }
std::string seconds_text(double seconds) { return format_figure(seconds, PlotUnit::kSeconds); }
std::string of_time(double seconds, double all) {
  return fmt::format("{} ({})", format_figure(all > 0 ? seconds / all : 0, PlotUnit::kShare), seconds_text(seconds));
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Section waits_section(const Ledger& ledger, const RunFinding& finding) {
  Bars bars{"While it waited, the oldest sample that was not done", {}, ledger.elapsed_seconds};
  for (const auto& [phrase, seconds] : finding.waits) {
    if (seconds > 0) bars.bars.push_back({phrase, seconds, of_time(seconds, ledger.elapsed_seconds)});
  }
  Section section{"What the consumer waited for", {}};
  if (bars.bars.empty())
    section.blocks.push_back(Paragraph{"Nothing: no time was waited."});
  else
    section.blocks.push_back(std::move(bars));
  return section;
}

double share_of(double part, double all) { return all > 0 ? part / all : 0; }

std::string per_sample(double seconds, int64_t samples) {
  return samples > 0 ? seconds_text(seconds / static_cast<double>(samples)) + "/sample" : "-";
}

ChainStep store_step(const Ledger& ledger, const StoreStats& store) {
  const double elapsed = ledger.elapsed_seconds;
  ChainStep step{store.name,
                 format_figure(share_of(static_cast<double>(store.bytes), elapsed), PlotUnit::kBytesPerSecond)};
  const auto waited = static_cast<double>(store.waited);
  step.arrow = waited > 0 ? seconds_text(store.seconds / waited) + "/read" : "from memory";
  step.weight = share_of(ledger.waits.storage + ledger.waits.slot, elapsed);
  return step;
}

ChainStep operator_step(const StepStats& step, double busy_of_all) {
  const double busy = share_of(step.busy_seconds, busy_of_all);
  ChainStep shown{step.name, format_figure(busy, PlotUnit::kShare) + " of CPU time", busy};
  shown.arrow = per_sample(step.busy_seconds + step.waiting_seconds, step.samples);
  if (step.samples > 0) shown.arrow_note = bytes_text(step.bytes_out / static_cast<uint64_t>(step.samples)) + "/sample";
  shown.weight = busy;
  return shown;
}

// The data set's store, the operators, and the trainer. Times are on the arrows: what a read or an
// operator took for a sample, and for how much of the time the trainer waited.
Section pipeline_section(const Ledger& ledger) {
  double busy = 0;
  for (const StepStats& step : ledger.steps) busy += step.busy_seconds;
  Chain chain;
  if (!ledger.stores.empty()) chain.steps.push_back(store_step(ledger, ledger.stores.front()));
  for (const StepStats& step : ledger.steps) chain.steps.push_back(operator_step(step, busy));
  const double waited = share_of(ledger.consumer_wait_seconds, ledger.elapsed_seconds);
  if (!chain.steps.empty()) {
    chain.steps.back().arrow = "waited " + format_figure(waited, PlotUnit::kShare);
    chain.steps.back().weight = waited;
  }
  chain.steps.push_back({"trainer", format_figure(share_of(static_cast<double>(ledger.samples), ledger.elapsed_seconds),
                                                  PlotUnit::kPerSecond)});
  return {"Pipeline", {std::move(chain)}};
}

Bar busy_bar(const StepStats& step, double all) {
  const double half = step.busy_uncertainty_seconds;
  return {step.name, step.busy_seconds, fmt::format("{} ± {}", of_time(step.busy_seconds, all), seconds_text(half)),
          std::max(step.busy_seconds - half, 0.0), std::min(step.busy_seconds + half, all)};
}

Section steps_section(const Ledger& ledger) {
  double all = 0;
  for (const StepStats& step : ledger.steps) all += step.busy_seconds;
  Bars bars{"CPU time by operator", {}};
  Table table{"Operators", {"operator", "samples", "CPU time", "waiting", "bytes in", "bytes out"}, {}};
  for (const StepStats& step : ledger.steps) {
    if (step.busy_seconds > 0) bars.bars.push_back(busy_bar(step, all));
    table.rows.push_back({step.name, fmt::format("{}", step.samples), seconds_text(step.busy_seconds),
                          seconds_text(step.waiting_seconds), bytes_text(step.bytes_in), bytes_text(step.bytes_out)});
  }
  std::stable_sort(bars.bars.begin(), bars.bars.end(), [](const Bar& a, const Bar& b) { return a.value > b.value; });
  return {
      "Operators",
      {Paragraph{"The sum is exact; how it is divided among the operators is sampled, one row in eight. The ranges are "
                 "where it lies 95 of 100 times, by how the rows that were looked at differ."},
       std::move(bars), std::move(table)}};
}

// Total time of all threads, however many there were at each time.
double seconds_of_threads(const ThreadStats& time) {
  return time.rows + time.row_groups + time.assembly + time.plan + time.engine + time.idle;
}

Section threads_section(const Ledger& ledger) {
  const ThreadStats& wall = ledger.thread_time;
  const ThreadCpuStats& cpu = ledger.thread_cpu;
  const double all = seconds_of_threads(wall);
  Bars bars{fmt::format("Time of {} compute thread{}", ledger.threads, ledger.threads == 1 ? "" : "s"), {}, all};
  const auto add = [&](std::string name, double seconds, double cpu_seconds) {
    bars.bars.push_back({std::move(name), seconds,
                         fmt::format("{}, of which CPU {}", of_time(seconds, all), seconds_text(cpu_seconds))});
  };
  add("rows", wall.rows, cpu.rows);
  add("row groups", wall.row_groups, cpu.row_groups);
  add("putting batches together", wall.assembly, cpu.assembly);
  add("planning", wall.plan, cpu.plan);
  add("the engine itself", wall.engine, cpu.engine);
  add("idle", wall.idle, cpu.idle);
  return {"Compute threads", {std::move(bars)}};
}

Section memory_section(const Ledger& ledger) {
  Bars bars{"In use, by use", {}, static_cast<double>(ledger.memory_budget)};
  const std::pair<const char*, uint64_t> uses[] = {
      {"batches", ledger.memory_batches},         {"fetched", ledger.memory_fetched},
      {"working", ledger.memory_working},         {"pool", ledger.memory_pool},
      {"row groups", ledger.memory_chunks},       {"index", ledger.memory_index},
      {"caches (shared)", ledger.memory_caches},  {"reads (shared)", ledger.memory_reads},
      {"columns (shared)", ledger.memory_columns}};
  for (const auto& [name, bytes] : uses) {
    if (bytes > 0) bars.bars.push_back({name, static_cast<double>(bytes), bytes_text(bytes)});
  }
  return {"Memory",
          {Paragraph{fmt::format("Budget {}, peak {}, now {}.", bytes_text(ledger.memory_budget),
                                 bytes_text(ledger.memory_peak), bytes_text(ledger.memory_used))},
           std::move(bars)}};
}

HistogramPlot plot_of(std::string caption, PlotUnit unit, const Histogram& histogram) {
  return {std::move(caption), unit, histogram.bounds, {histogram.counts.begin(), histogram.counts.end()}};
}

Section store_section(const StoreStats& store) {
  Table table{"", {"what", "figure"}, {}};
  const std::pair<const char*, uint64_t> counts[] = {
      {"in flight", store.in_flight},   {"requests", store.requests}, {"answered at once", store.immediate},
      {"had to wait", store.waited},    {"opens", store.opens},       {"listings", store.listings},
      {"metadata calls", store.heads},  {"attempts", store.attempts}, {"retries", store.retries},
      {"throttled", store.throttled},   {"timeouts", store.timeouts}, {"hedges", store.hedges},
      {"hedges won", store.hedges_won}, {"errors", store.errors}};
  table.rows.push_back({"bytes", bytes_text(store.bytes)});
  for (const auto& [name, count] : counts) {
    if (count > 0) table.rows.push_back({name, fmt::format("{}", count)});
  }
  return {fmt::format("Storage: {}", store.name),
          {std::move(table), plot_of("Sizes of reads", PlotUnit::kBytes, store.read_bytes),
           plot_of("Latency of requests that had to wait", PlotUnit::kSeconds, store.latency_seconds)}};
}

std::string tier_text(const TierStats& tier) {
  if (!tier.off.empty()) return "off: " + tier.off;
  if (tier.budget_bytes == 0) return "off";
  return fmt::format("{} of {}, {} entries, {} hits, {} declined, {} damaged", bytes_text(tier.bytes),
                     bytes_text(tier.budget_bytes), tier.entries, tier.hits, tier.declined, tier.damaged);
}

Section caches_section(const Ledger& ledger) {
  Table table{"", {"cache of", "hit ratio", "best for its budgets", "in memory", "on disk", "misses"}, {}};
  for (const CacheStats& cache : ledger.caches)
    table.rows.push_back({cache.description, format_figure(cache.hit_ratio, PlotUnit::kShare),
                          format_figure(cache.optimum, PlotUnit::kShare), tier_text(cache.ram), tier_text(cache.disk),
                          fmt::format("{}", cache.misses)});
  return {"Caches", {std::move(table)}};
}

Section tuning_section(const Ledger& ledger) {
  Table table{"", {"what", "after", "from", "to", "why"}, {}};
  for (const TuningStats& change : ledger.tuning)
    table.rows.push_back({change.what, seconds_text(change.seconds), fmt::format("{}", change.from),
                          fmt::format("{}", change.to), change.reason});
  return {"Tuning while it ran", {std::move(table)}};
}

void add_facts(const Ledger& ledger, Page& page) {
  const double elapsed = ledger.elapsed_seconds;
  const auto samples = static_cast<double>(ledger.samples);
  const double threads = seconds_of_threads(ledger.thread_time);
  page.facts = {
      {"speed", elapsed > 0 ? fmt::format("{:.0f} samples/s", samples / elapsed) : "-",
       fmt::format("{} samples in {}", ledger.samples, seconds_text(elapsed))},
      {"waited for batches",
       elapsed > 0 ? format_figure(ledger.consumer_wait_seconds / elapsed, PlotUnit::kShare) : "-",
       fmt::format("{} of {}", seconds_text(ledger.consumer_wait_seconds), seconds_text(elapsed))},
      {"compute threads", fmt::format("{}", ledger.threads),
       threads > 0 ? fmt::format("idle {}", format_figure(ledger.thread_time.idle / threads, PlotUnit::kShare)) : ""},
      {"memory, peak", bytes_text(ledger.memory_peak), fmt::format("of {}", bytes_text(ledger.memory_budget))}};
  if (ledger.errors > 0)
    page.facts.push_back(
        {"errors", fmt::format("{}", ledger.errors), "bad samples, once each time; errors() names them"});
}

std::string sentence_of(const Ledger& ledger, const RunFinding& finding) {
  if (ledger.elapsed_seconds <= 0) return finding.sentence + ".";
  const std::string waited = fmt::format("{:.0f} % of the time was spent waiting for batches",
                                         100 * std::min(ledger.consumer_wait_seconds / ledger.elapsed_seconds, 1.0));
  if (!finding.worth_a_change || finding.waits.empty()) return waited + ": the loader is not the limit.";
  return fmt::format("{}, mostly because {}.", waited, finding.waits.front().first);
}

}  // namespace

Page run_page(const Ledger& ledger, const RunHistory& history, const std::string& subject) {
  const RunFinding finding = finding_of(ledger);
  Page page{.title = "Forebay run", .subject = subject, .finding = sentence_of(ledger, finding)};
  if (!finding.change.empty())
    page.action = capitalised(finding.change) + "." + (finding.gain.empty() ? "" : " " + finding.gain);
  page.footnote =
      "Times of waits and threads are measured, not sampled. What each figure means: docs/reference/stats.md.";
  add_facts(ledger, page);
  page.sections = {pipeline_section(ledger), waits_section(ledger, finding), steps_section(ledger),
                   threads_section(ledger), memory_section(ledger)};
  for (const StoreStats& store : ledger.stores) page.sections.push_back(store_section(store));
  if (!ledger.caches.empty()) page.sections.push_back(caches_section(ledger));
  if (!ledger.tuning.empty()) page.sections.push_back(tuning_section(ledger));
  if (std::vector<Block> curves = history.curves(); !curves.empty())
    page.sections.insert(page.sections.begin() + 1, {"Over time", std::move(curves)});
  return page;
}

}  // namespace forebay
