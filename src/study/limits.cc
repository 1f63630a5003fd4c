#include "study/limits.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/ledger.h"
#include "runtime/host.h"
#include "study/observation.h"
#include "telemetry/ledger_since.h"

namespace forebay {

namespace {

// Sum of the time of all compute threads, busy or idle.
double thread_seconds(const ThreadStats& time) {
  return time.rows + time.row_groups + time.assembly + time.plan + time.engine + time.idle;
}

double percent(double share) { return 100 * std::clamp(share, 0.0, 1.0); }

// Returns the operator that took the most CPU time between two ledgers, and its share.
std::pair<std::string, double> busiest(const Ledger& before, const Ledger& after) {
  std::pair<std::string, double> most{"", 0};
  double all = 0;
  for (size_t i = 0; i < after.steps.size(); ++i) {
    // A ledger from before the first work may have no steps yet.
    const double earlier = i < before.steps.size() ? before.steps[i].busy_seconds : 0;
    const double spent = after.steps[i].busy_seconds - earlier;
    all += spent;
    if (spent > most.second) most = {after.steps[i].name, spent};
  }
  if (all > 0) most.second /= all;
  return most;
}

double running_seconds(const Observation& seen) { return seen.cores_after.ran - seen.cores_before.ran; }
double runnable_seconds(const Observation& seen) {
  return running_seconds(seen) + seen.cores_after.waited - seen.cores_before.waited;
}

// Whether busy threads lack cores. They may also wait for a lock, for a mapped file, or in an
// operator that sleeps, which more cores would not change. With more threads than cores, threads
// take turns anyway.
bool lacks_cores(const Observation& seen) {
  const ThreadStats &was = seen.before.thread_time, &is = seen.after.thread_time;
  const double worked = is.rows - was.rows + is.row_groups - was.row_groups;
  // The best share of time that each thread can have a core, if there are more threads than cores.
  const double at_best = std::min(1.0, static_cast<double>(usable_cores()) / std::max(seen.after.threads, 1));
  // Requires that they were mostly ready to run: otherwise they waited for a lock or a file, not
  // for a core.
  return runnable_seconds(seen) >= worked / 2 &&
         running_seconds(seen) < kLeastCoreShare * at_best * runnable_seconds(seen);
}

// Returns the store whose reads took the most time in the windows, before and after them. Parts may
// be in several stores. Null if there is none.
std::pair<const StoreStats*, const StoreStats*> busiest_store(const Observation& seen) {
  std::pair<const StoreStats*, const StoreStats*> busiest{};
  double most = -1;
  for (size_t i = 0; i < std::min(seen.before.stores.size(), seen.after.stores.size()); ++i) {
    const StoreStats &was = seen.before.stores[i], &is = seen.after.stores[i];
    if (is.seconds - was.seconds <= most) continue;
    most = is.seconds - was.seconds;
    busiest = {&was, &is};
  }
  return busiest;
}

// Whether reads are the limit although the wait ends in compute: threads have time, and work on
// data as soon as it arrives, while nearly all requests are in flight.
bool waits_for_reads(const Observation& seen) {
  const auto [store_was, store_is] = busiest_store(seen);
  if (store_is == nullptr) return false;
  const ThreadStats &was = seen.before.thread_time, &is = seen.after.thread_time;
  const double all = thread_seconds(is) - thread_seconds(was);
  const double elapsed = seen.after.elapsed_seconds - seen.before.elapsed_seconds;
  if (all <= 0 || elapsed <= 0 || seen.after.requests <= 0) return false;
  const double in_flight = (store_is->seconds - store_was->seconds) / elapsed;
  return is.idle - was.idle > kIdleShare * all && in_flight > kRequestShare * seen.after.requests;
}

std::string storage_sentence(double share, const Observation& seen) {
  std::string text = fmt::format("storage: for {:.0f} % of the time the consumer waited for reads", percent(share));
  const auto [before, after] = busiest_store(seen);
  if (after == nullptr) return text;
  const StoreStats &was = *before, &is = *after;
  const auto waited = static_cast<double>(is.waited - was.waited);
  const double elapsed = seen.after.elapsed_seconds - seen.before.elapsed_seconds;
  // If no read ended in this time, there is no latency to report, and nothing to divide by.
  if (waited <= 0 || elapsed <= 0) return text;
  text += fmt::format(" ({}: {:.1f} ms a read, {}/s, {:.0f} reads under way on average", is.name,
                      1e3 * (is.seconds - was.seconds) / waited,
                      format_byte_size(static_cast<uint64_t>(static_cast<double>(is.bytes - was.bytes) / elapsed)),
                      (is.seconds - was.seconds) / elapsed);
  if (is.throttled > was.throttled)
    text += fmt::format("; it asked {} times for fewer requests", is.throttled - was.throttled);
  return text + ")";
}

std::string compute_sentence(double share, const Observation& seen) {
  const auto [name, part] = busiest(seen.before, seen.after);
  const ThreadStats &was = seen.before.thread_time, &is = seen.after.thread_time;
  const double all = thread_seconds(is) - thread_seconds(was);
  std::string text = fmt::format(
      "compute: for {:.0f} % of the time the consumer waited for {} compute thread{}, at work {:.0f} % of it",
      percent(share), seen.after.threads, seen.after.threads == 1 ? "" : "s",
      all > 0 ? percent(1 - (is.idle - was.idle) / all) : 0);
  if (!name.empty()) text += fmt::format("; {} took {:.0f} % of their CPU time", name, percent(part));
  return text;
}

std::string cores_sentence(double share, const Observation& seen) {
  return fmt::format(
      "cores: for {:.0f} % of the time the consumer waited for compute threads, which had a core for {:.0f} % of the "
      "time that they were ready to run; other programs, or a quota of CPU time, take the rest",
      percent(share), percent(running_seconds(seen) / runnable_seconds(seen)));
}

std::string user_code_sentence(double share, const Observation& seen) {
  const WaitStats waits = waits_since(seen.before.waits, seen.after.waits);
  const double both = waits.user + waits.interpreter;
  std::string text = fmt::format("your function: for {:.0f} % of the time the consumer waited for it", percent(share));
  if (waits.interpreter >= both / 4)
    text += fmt::format(", {:.0f} % of that for Python's lock, which another thread had",
                        percent(waits.interpreter / both));
  return text;
}

std::string sentence_of(Limit limit, double share, const Observation& seen, const LoaderOptions& options) {
  switch (limit) {
    case Limit::kStorage: return storage_sentence(share, seen);
    case Limit::kRequests:
      return fmt::format("requests={}: for {:.0f} % of the time the consumer waited for a free one, or what it brought",
                         *options.resources.requests, percent(share));
    case Limit::kMemory:
      return fmt::format("memory: for {:.0f} % of the time the consumer waited for bytes that others held, of {}",
                         percent(share), format_byte_size(seen.after.memory_budget));
    case Limit::kUserCode: return user_code_sentence(share, seen);
    case Limit::kCompute: return compute_sentence(share, seen);
    case Limit::kCores: return cores_sentence(share, seen);
    case Limit::kCache:
    case Limit::kTrainer: break;
  }
  return fmt::format("your trainer: it waited for batches {:.1f} % of the time", percent(share));
}

}  // namespace

std::string_view name_of(Limit limit) {
  switch (limit) {
    case Limit::kStorage: return "storage";
    case Limit::kRequests: return "requests";
    case Limit::kMemory: return "memory";
    case Limit::kCache: return "cache";
    case Limit::kCompute: return "compute";
    case Limit::kCores: return "cores";
    case Limit::kUserCode: return "user_code";
    case Limit::kTrainer: break;
  }
  return "trainer";
}

Limiter limiter_of(const Observation& seen, const LoaderOptions& options) {
  // Above 0 even if the clock is coarse.
  const double elapsed = std::max(seen.after.elapsed_seconds - seen.before.elapsed_seconds, 1e-9);
  const double waited = (seen.after.consumer_wait_seconds - seen.before.consumer_wait_seconds) / elapsed;
  Limiter limiter{Limit::kTrainer, waited, {}};
  if (waited >= kNegligibleWait) {
    const WaitStats waits = waits_since(seen.before.waits, seen.after.waits);
    // If the engine holds back request slots because the store serves no more, the store is the
    // limit.
    const std::array<std::pair<Limit, double>, 5> parts = {
        {{Limit::kStorage, waits.storage + (options.resources.requests ? 0 : waits.slot)},
         {Limit::kRequests, options.resources.requests ? waits.slot : 0},
         {Limit::kMemory, waits.memory},
         {Limit::kCompute, waits.thread + waits.compute + waits.assembly + waits.plan},
         {Limit::kUserCode, waits.user + waits.interpreter}}};
    const auto& most =
        *std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    limiter = {most.first, most.second / elapsed, {}};
    if (limiter.limit == Limit::kCompute && waits_for_reads(seen)) {
      // The share is that of all waits: later waits are due to the reads, too.
      limiter = {options.resources.requests ? Limit::kRequests : Limit::kStorage, waited, {}};
    }
    // Checked last: threads without a core seem to compute for long, so the waits show compute.
    if (limiter.limit == Limit::kCompute && lacks_cores(seen)) limiter.limit = Limit::kCores;
  }
  limiter.sentence = sentence_of(limiter.limit, limiter.share, seen, options);
  return limiter;
}

}  // namespace forebay
