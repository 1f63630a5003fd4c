#include "study/trial.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "forebay/ledger.h"
#include "runtime/executor.h"
#include "study/observation.h"

namespace forebay {

namespace {

constexpr int64_t kPatienceNs = 30'000'000'000;
constexpr double kLongSeconds = 4;                                 // then a single batch has to do
constexpr int kLeastEarly = 4, kMaxEarly = 24;                     // batches
constexpr auto kProgressInterval = std::chrono::milliseconds(40);  // a loader without progress this long rests
constexpr int kMaxProgressChecks = 125;
constexpr int kEmptyEpochs = 3;  // consecutive empty epochs that end a trial

double seconds_since(int64_t begun_ns) { return static_cast<double>(monotonic_ns() - begun_ns) * 1e-9; }

Status no_batches() {
  return invalid_argument("the pipeline gives no batch, so there is nothing to diagnose; is the data set empty?");
}

// Does what the binding of a language does with a batch: takes the lock, and makes an object of it.
void hand_over(Loader& loader, const TrialContext& context, Batch batch) {
  constexpr std::chrono::microseconds kLockTaken(10);  // a lock that was free takes less
  // Reported, since the loader would otherwise count it as work of the consumer.
  if (const std::chrono::nanoseconds locked = context.hand_over(std::move(batch)); locked >= kLockTaken)
    loader.waited_for_interpreter(locked);
}

// Returns nothing at the end of an epoch.
Result<std::optional<Batch>> next_of(Loader& loader, const TrialContext& context) {
  const int64_t begun_ns = monotonic_ns();
  while (true) {
    if (context.stop.stop_requested()) return cancelled("stopped");
    // Waits in short intervals, so that a signal or another thread can end the wait.
    bool timed_out = false;
    Result<std::optional<Batch>> batch = loader.next_for(std::chrono::milliseconds(50), &timed_out);
    if (!batch.ok() || !timed_out) return batch;
    if (context.poll) context.poll();
    if (monotonic_ns() - begun_ns > kPatienceNs)
      return unavailable("no batch came for 30 s; the log and loader.report() say what it waits for");
  }
}

Result<Batch> require_batch(Loader& loader, const TrialContext& context) {
  // A random filter may leave one epoch empty and the next one not.
  for (int ends = 0; ends < kEmptyEpochs; ++ends) {
    FOREBAY_ASSIGN(std::optional<Batch> batch, next_of(loader, context));
    if (batch) return std::move(*batch);
  }
  return no_batches();
}

/// A consumer that counts its batches and samples, and the time of its own work.
struct Consumer {
  Loader& loader;
  const TrialContext& context;
  int64_t batches = 0, samples = 0;
  double step_seconds = 0;
  Batch last = {};  // training loops hold a batch until they have the next one

  Status take() {
    FOREBAY_ASSIGN(Batch batch, require_batch(loader, context));
    ++batches;
    // Padding is copied at no cost: counting it would make a last batch look faster than it is.
    samples += batch.size() - batch.padding;
    if (context.hand_over) {
      hand_over(loader, context, std::move(batch));
    } else {
      if (context.poll) context.poll();
      last = std::move(batch);
    }
    if (!context.step) return {};
    const int64_t begun_ns = monotonic_ns();
    context.step();
    step_seconds += seconds_since(begun_ns);
    return {};
  }
};

// Takes batches until one has to be waited for. The first batch comes late, and batches that were
// made before they were requested come early.
Status drain_ready_batches(Loader& loader, const TrialContext& context) {
  Consumer early{loader, context};
  const int64_t begun_ns = monotonic_ns();
  for (int i = 0; i < kMaxEarly; ++i) {
    const double waited = loader.stats().consumer_wait_seconds;
    FOREBAY_RETURN_IF_ERROR(early.take());
    if (seconds_since(begun_ns) > kLongSeconds) break;
    // A wait shows that batches now come as fast as they are made.
    if (i >= kLeastEarly && loader.stats().consumer_wait_seconds > waited) break;
  }
  return {};
}

// Returns a sum of counters that changes with any work of the loader.
double progress_of(const Ledger& ledger) {
  double done = static_cast<double>(ledger.batches);
  for (const StepStats& step : ledger.steps) done += static_cast<double>(step.samples) + step.waiting_seconds;
  for (const StoreStats& store : ledger.stores) done += static_cast<double>(store.in_flight + store.requests);
  const ThreadStats& time = ledger.thread_time;
  return done + time.rows + time.row_groups + time.assembly + time.plan;
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<Observation> observe(Loader& loader, const TrialContext& context, const TrialLength& length) {
  FOREBAY_RETURN_IF_ERROR(drain_ready_batches(loader, context));
  Observation seen;
  seen.before = loader.stats();
  seen.cores_before = core_time_of_threads(Executor::kThreadName);
  Consumer consumer{loader, context};
  for (int window = 0; window < length.windows; ++window) {
    const int64_t begun_ns = monotonic_ns();
    consumer.batches = consumer.samples = 0;
    consumer.step_seconds = 0;
    // A single batch does not show how batches overlap: takes two, unless that takes too long.
    do {
      FOREBAY_RETURN_IF_ERROR(consumer.take());
    } while (seconds_since(begun_ns) < (consumer.batches < 2 ? kLongSeconds : context.pace * length.window_seconds));
    const double seconds = seconds_since(begun_ns);
    seen.rates.push_back(static_cast<double>(consumer.samples) / seconds);
    seen.samples += static_cast<double>(consumer.samples);
    seen.seconds += seconds;
    // A step without work may take no measurable time.
    if (context.step)
      seen.step_rates.push_back(static_cast<double>(consumer.samples) / std::max(consumer.step_seconds, 1e-9));
  }
  seen.after = loader.stats();
  seen.cores_after = core_time_of_threads(Executor::kThreadName);
  return seen;
}

Status observe_in_turns(Loader& changed, Loader& before, const TrialContext& context, const TrialLength& length,
                        int turns, const VisitTurn& visit) {
  for (int turn = 0; turn < turns; ++turn) {
    Observation with, without;
    for (const bool is_changed : {turn % 2 != 0, turn % 2 == 0}) {
      // The other loader still reads ahead. Until its window is full, it would slow this one down.
      FOREBAY_RETURN_IF_ERROR(wait_until_idle(is_changed ? before : changed, context));
      FOREBAY_ASSIGN((is_changed ? with : without), observe(is_changed ? changed : before, context, length));
    }
    if (!visit(with, without)) break;
  }
  return {};
}

Status wait_until_idle(Loader& loader, const TrialContext& context) {
  double before = -1;
  for (int checks = 0; checks < kMaxProgressChecks; ++checks) {
    const double now = progress_of(loader.stats());
    // Exact comparison: the counters either stand still or do not.
    if (now == before) break;
    before = now;
    if (context.stop.stop_requested()) return cancelled("stopped");
    if (context.poll) context.poll();
    std::this_thread::sleep_for(context.pace * kProgressInterval);
  }
  return {};
}

Status take_batch(Loader& loader, const TrialContext& context) { return require_batch(loader, context).status(); }

Status pass_epoch(Loader& loader, const TrialContext& context, const std::function<void(const Batch&)>& visit) {
  FOREBAY_ASSIGN(std::optional<Batch> batch, require_batch(loader, context));
  while (batch) {
    if (visit) visit(*batch);
    if (context.poll) context.poll();
    FOREBAY_ASSIGN(batch, next_of(loader, context));
  }
  return {};
}

}  // namespace forebay
