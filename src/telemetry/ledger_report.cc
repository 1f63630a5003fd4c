#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/ledger.h"
#include "telemetry/ledger_report.h"

// Interprets the figures: the reasons of the consumer's waits, the busiest steps, and the one thing
// to change.

namespace forebay {

namespace {

// Shares below 1 % are not printed, and a wait below 5 % is not worth a change.
constexpr double kWorthALine = 0.01, kWorthAChange = 0.05;  // share of the time
constexpr double kLacksCores = 0.5;                         // share of the time at work

enum class Cause { kStorage, kSlots, kMemory, kCompute, kUser, kInterpreter, kArrival, kPlan };

struct WaitPart {
  double seconds;
  std::string_view phrase;
  Cause cause;
};

std::vector<WaitPart> wait_parts(const WaitStats& waits) {
  std::vector<WaitPart> parts = {
      {waits.storage, "its bytes were on their way from storage", Cause::kStorage},
      {waits.slot, "it waited for a free request slot", Cause::kSlots},
      {waits.memory, "it waited for memory", Cause::kMemory},
      {waits.thread, "it waited for a compute thread", Cause::kCompute},
      {waits.compute, "a compute thread was at work on it", Cause::kCompute},
      {waits.assembly, "its rows were put together", Cause::kCompute},
      {waits.user, "it was with your own function", Cause::kUser},
      {waits.interpreter, "it was done; another thread had Python's lock", Cause::kInterpreter},
      {waits.arrival, "the stream had not given enough records", Cause::kArrival},
      {waits.plan, "no element had started", Cause::kPlan},
  };
  // Stable, so that equal parts have the same order on every run.
  std::stable_sort(parts.begin(), parts.end(),
                   [](const WaitPart& a, const WaitPart& b) { return a.seconds > b.seconds; });
  return parts;
}

std::vector<const StepStats*> busiest(const Ledger& ledger) {
  std::vector<const StepStats*> steps;
  for (const StepStats& step : ledger.steps) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepStats* a, const StepStats* b) { return a->busy_seconds > b->busy_seconds; });
  return steps;
}

double busy_seconds(const Ledger& ledger) {
  double sum = 0;
  for (const StepStats& step : ledger.steps) sum += step.busy_seconds;
  return sum;
}

double cpu_seconds(const ThreadCpuStats& cpu) {
  return cpu.rows + cpu.row_groups + cpu.assembly + cpu.plan + cpu.engine;
}

double at_work_seconds(const ThreadStats& time) {
  return time.rows + time.row_groups + time.assembly + time.plan + time.engine;
}

// Time that compute threads waited in the middle of their work, mostly for a core.
double waited_at_work(const Ledger& ledger) {
  // Threads go on while both figures are read, so the difference may be slightly negative. Callers
  // compare it with a share of the time.
  return at_work_seconds(ledger.thread_time) - cpu_seconds(ledger.thread_cpu);
}

std::string percent(double part, double whole) {
  return fmt::format("{:.0f} %", whole > 0 ? 100 * std::min(part / whole, 1.0) : 0);
}

// A share that was estimated from samples. The uncertainty is printed unless it is below half a per
// cent.
std::string uncertain_percent(const StepStats& step, double all) {
  const double uncertainty = 100 * step.busy_uncertainty_seconds / all;
  if (uncertainty < 0.5) return percent(step.busy_seconds, all);
  return fmt::format("{:.0f} ± {:.0f} %", 100 * step.busy_seconds / all, uncertainty);
}

std::string busy_line(const Ledger& ledger) {
  const double all = busy_seconds(ledger),
               thread_seconds = at_work_seconds(ledger.thread_time) + ledger.thread_time.idle;
  if (all <= 0 || thread_seconds <= 0) return "";
  std::string line = fmt::format("Compute threads ({}) were at work {} of the time;", ledger.threads,
                                 percent(thread_seconds - ledger.thread_time.idle, thread_seconds));
  if (ledger.thread_time.engine >= kWorthAChange * thread_seconds)
    line += fmt::format(" the engine's own work took {};", percent(ledger.thread_time.engine, thread_seconds));
  const double without_core = waited_at_work(ledger);
  if (without_core >= kWorthAChange * thread_seconds)
    line += fmt::format(" {} of the time they waited there (for a core, a lock, a mapped file);",
                        percent(without_core, thread_seconds));
  line += " CPU time by step:";
  const std::vector<const StepStats*> steps = busiest(ledger);
  for (size_t i = 0; i < std::min<size_t>(steps.size(), 3) && steps[i]->busy_seconds >= kWorthALine * all; ++i)
    line += fmt::format("{} {} {}", i == 0 ? "" : ",", steps[i]->name, uncertain_percent(*steps[i], all));
  return line + "\n";
}

// The cause with the largest sum over its parts.
std::pair<Cause, double> main_cause(const std::vector<WaitPart>& parts) {
  std::vector<std::pair<Cause, double>> causes;
  for (const WaitPart& part : parts) {
    const auto known =
        std::find_if(causes.begin(), causes.end(), [&](const auto& cause) { return cause.first == part.cause; });
    if (known == causes.end()) {
      causes.emplace_back(part.cause, part.seconds);
    } else {
      known->second += part.seconds;
    }
  }
  return *std::max_element(causes.begin(), causes.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

std::string storage_remedy(const Ledger& ledger) {
  // Before caches, because throttling by the store matters whatever else changes.
  for (const StoreStats& store : ledger.stores) {
    if (store.throttled > 0)
      return fmt::format("{} asked {} times for fewer requests: lower requests= (now {}), or spread the data",
                         store.name, store.throttled, ledger.requests);
  }
  for (const CacheStats& cache : ledger.caches) {
    // Uses the best ratio that the budgets allow: the hit ratio itself is low in every first epoch.
    if (cache.optimum < 0.99)
      return fmt::format("the cache holds {} of what is asked for: give it more (ram=, disk=)",
                         percent(cache.optimum, 1));
  }
  return ledger.caches.empty() ? "put .cache() behind the source, so that storage is asked once"
                               : "nothing here: the first epoch fills the cache, later ones do without storage";
}

// The operator after which a cache saves most. `batch` is left out: it writes rows for all
// operators, and no cache can follow it.
std::string busiest_operator(const Ledger& ledger) {
  for (const StepStats* step : busiest(ledger)) {
    if (step->name != "batch" && step->busy_seconds > 0) return step->name;
  }
  return "the last step";
}

std::string remedy(const Ledger& ledger, Cause cause) {
  switch (cause) {
    case Cause::kStorage: return storage_remedy(ledger);
    case Cause::kSlots:
      return fmt::format(
          "allow more requests at once (requests= is {}; \"auto\" finds as many as the store serves best)",
          ledger.requests);
    case Cause::kMemory:
      return fmt::format("give it more memory (memory= is {})", format_byte_size(ledger.memory_budget));
    case Cause::kUser:
      return "your function is the slowest part: more workers=, or operators of the engine in its place";
    case Cause::kInterpreter:
      return "functions that compute in Python have its lock while they do: workers=\"processes\" for them, or "
             "operators of the engine in their place";
    case Cause::kArrival: return "nothing here: training is faster than what writes the stream";
    case Cause::kPlan: return "nothing: this was the beginning; look again after more batches";
    case Cause::kCompute: break;
  }
  const std::string name = busiest_operator(ledger);
  if (waited_at_work(ledger) >= kLacksCores * at_work_seconds(ledger.thread_time))
    return fmt::format(
        "{} thread{} found no core for most of the work, so that more would gain nothing: end what else runs here, "
        "raise its quota of CPU time, or put .cache() behind {}, if nothing before it is random",
        ledger.threads, ledger.threads == 1 ? "" : "s", name);
  return fmt::format(
      "there is more work than {} thread{} can do, most of it in {}: raise threads= where cores are free, or "
      "put .cache() behind it, if nothing before it is random",
      ledger.threads, ledger.threads == 1 ? "" : "s", name);
}

}  // namespace

RunFinding finding_of(const Ledger& ledger) {
  RunFinding finding;
  const double elapsed = ledger.elapsed_seconds, waited = ledger.consumer_wait_seconds;
  if (elapsed <= 0) {
    finding.sentence = "No batch was asked for yet";
    return finding;
  }
  // Compares causes and not parts: the parts of a cause may each be small and together be largest.
  const std::vector<WaitPart> parts = wait_parts(ledger.waits);
  for (const WaitPart& part : parts) finding.waits.push_back({std::string(part.phrase), part.seconds});
  finding.sentence = fmt::format("Waiting for batches took {} of the time", percent(waited, elapsed));
  finding.worth_a_change = waited >= kWorthAChange * elapsed;
  if (!finding.worth_a_change) {
    finding.change = "nothing here. What uses the batches is slower than what makes them";
    return finding;
  }
  const auto [cause, seconds] = main_cause(parts);
  finding.change = remedy(ledger, cause);
  // If nearly all of the time was spent waiting, the rest says nothing about the speed.
  if (seconds < elapsed * 0.98)
    finding.gain =
        fmt::format("Without that wait it would be at most {:.1f} times as fast.", elapsed / (elapsed - seconds));
  return finding;
}

std::string report(const Ledger& ledger) {
  const RunFinding finding = finding_of(ledger);
  const double elapsed = ledger.elapsed_seconds;
  if (elapsed <= 0) return finding.sentence + ".\n";
  std::string text = fmt::format("{} samples in {:.3g} s, {:.0f} a second.\n", ledger.samples, elapsed,
                                 static_cast<double>(ledger.samples) / elapsed);
  text += finding.sentence;
  text += finding.worth_a_change ? "; meanwhile the oldest sample of the next one:\n" : ".\n";
  for (const auto& [phrase, seconds] : finding.waits) {
    if (finding.worth_a_change && seconds >= kWorthALine * elapsed)
      text += fmt::format("  {:>5}  {}\n", percent(seconds, elapsed), phrase);
  }
  text += busy_line(ledger);
  text += fmt::format("To change: {}.\n", finding.change);
  return finding.gain.empty() ? text : text + finding.gain + "\n";
}

}  // namespace forebay
