#include "store/http/retrying_caller.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "forebay/stats/store.h"
#include "runtime/fork_guard.h"
#include "store/calls.h"
#include "store/http/call_budget.h"
#include "store/http/caller_counters.h"
#include "store/http/http_status.h"
#include "store/http/latency_window.h"
#include "store/timer.h"

namespace forebay {

namespace {

using Time = Timer::Time;

// One wake-up serves all hedges that are due.
constexpr Time kHedgeTick = std::chrono::milliseconds(2);

/// Randomness of the jitter, on which no result depends.
std::function<double()> own_random() {
  auto mutex = std::make_shared<Mutex>();
  auto generator = std::make_shared<std::minstd_rand>(std::random_device{}());
  return [mutex, generator] {
    const Lock lock(*mutex);
    return std::uniform_real_distribution<double>(0, 1)(*generator);
  };
}

struct State;
using HedgeQueue = std::multimap<Time, std::weak_ptr<State>>;

/// One call. The mutex guards what several threads may change.
struct State {
  HttpCall call;
  std::shared_ptr<Call<HttpResponse>> entry;
  std::stop_source transfers;

  Mutex mutex;
  Time first_start FOREBAY_GUARDED_BY(mutex){0};
  bool started FOREBAY_GUARDED_BY(mutex) = false;
  int attempts FOREBAY_GUARDED_BY(mutex) = 0;
  int in_flight FOREBAY_GUARDED_BY(mutex) = 0;
  bool hedged FOREBAY_GUARDED_BY(mutex) = false;
  bool charged FOREBAY_GUARDED_BY(mutex) = false;
  bool throttled FOREBAY_GUARDED_BY(mutex) = false;
  std::optional<HedgeQueue::iterator> hedge_entry;  // guarded by the caller's hedge_mutex_
};

/// State shared with callbacks. They do not hold the caller, so that it is never destroyed on a
/// thread of its own.
class CallerCore : public std::enable_shared_from_this<CallerCore> {
 public:
  CallerCore(std::shared_ptr<HttpTransport> transport, CallerOptions options)
      : options_(std::move(options)), random_(options_.random ? options_.random : own_random()),
        transport_(std::move(transport)), retry_budget_(options_.retry_share, options_.retry_tokens),
        hedge_budget_(options_.hedge_share, options_.hedge_tokens, 0), latencies_(options_.hedge_quantile),
        timer_(options_.manual_clock) {}

  void call(HttpCall call, std::stop_token stop, HttpCaller::Done done);
  std::shared_ptr<ReclaimableMemory> idle_memory() const { return transport_->idle_memory(); }
  void close() {
    calls_.close();
    timer_.close();
  }
  void advance(Time by) { timer_.advance(by); }
  CallerStats stats() const;

 private:
  /// One attempt of a call, as the transport sees it.
  class Attempt final : public HttpObserver {
   public:
    Attempt(std::shared_ptr<CallerCore> core, std::shared_ptr<State> state, bool hedge)
        : core_(std::move(core)), state_(std::move(state)), is_hedge(hedge), sent(core_->timer_.now()) {}
    void on_started() override { core_->attempt_started(state_, *this); }
    void on_timeout() override { core_->counters_.timeouts.fetch_add(1, std::memory_order_relaxed); }

   private:
    const std::shared_ptr<CallerCore> core_;
    const std::shared_ptr<State> state_;

   public:
    const bool is_hedge;
    Time sent;  // later the time when it started
    uint64_t expected_bytes = 0;
  };

  void start_attempt(const std::shared_ptr<State>& state, bool hedge);
  void send(const std::shared_ptr<State>& state, const std::shared_ptr<Attempt>& attempt, Result<HttpRequest> request);
  void attempt_started(const std::shared_ptr<State>& state, Attempt& attempt);
  void attempt_ended(const std::shared_ptr<State>& state, const Attempt& attempt, Result<HttpResponse> result);
  void succeeded(State& state, const Attempt& attempt, HttpResponse response);
  void failed(const std::shared_ptr<State>& state, Status error, std::optional<Time> asked_to_wait, bool connection);
  std::optional<std::string> charge_retry(State& state, Time elapsed, Time wait) FOREBAY_REQUIRES(state.mutex);
  void end_call(State& state);

  void plan_hedge(const std::shared_ptr<State>& state, uint64_t expected_bytes);
  void forget_hedge(State& state);
  void arm_hedges(Time at_least);
  void send_hedges();
  bool try_begin_hedge(State& state);

  const CallerOptions options_;
  const std::function<double()> random_;
  CallTable calls_;  // first: it must outlive everything that holds calls
  const std::shared_ptr<HttpTransport> transport_;
  CallBudget retry_budget_, hedge_budget_;
  LatencyWindow latencies_;
  CallerCounters counters_;
  std::atomic<bool> ever_answered_{false};
  Mutex hedge_mutex_;
  HedgeQueue hedge_queue_ FOREBAY_GUARDED_BY(hedge_mutex_);
  bool hedges_armed_ FOREBAY_GUARDED_BY(hedge_mutex_) = false;
  Timer timer_;
};

void CallerCore::call(HttpCall call, std::stop_token stop, HttpCaller::Done done) {
  auto state = std::make_shared<State>();
  state->call = std::move(call);
  {
    const Lock lock(state->mutex);
    state->first_start = timer_.now();
  }
  // The entry's callback holds the state, and the state holds the entry. The answer, which every
  // call gets, breaks the cycle.
  state->entry = calls_.begin<HttpResponse>(
      state->call.name, std::move(stop),
      [core = shared_from_this(), state, done = std::move(done)](Result<HttpResponse> result) {
        core->end_call(*state);
        done(std::move(result));
      });
  if (state->entry->answered()) return;
  retry_budget_.earn();
  if (state->call.hedge) hedge_budget_.earn();
  start_attempt(state, false);
}

/// Called after the answer, when other attempts in flight are of no use.
void CallerCore::end_call(State& state) {
  forget_hedge(state);
  state.transfers.request_stop();
}

void CallerCore::start_attempt(const std::shared_ptr<State>& state, bool hedge) {
  if (state->entry->answered()) return;
  int number = 0;
  {
    const Lock lock(state->mutex);
    number = state->attempts++;
    ++state->in_flight;
  }
  counters_.attempts.fetch_add(1, std::memory_order_relaxed);
  auto attempt = std::make_shared<Attempt>(shared_from_this(), state, hedge);
  state->call.make(number, [self = shared_from_this(), state, attempt](Result<HttpRequest> request) {
    self->send(state, attempt, std::move(request));
  });
}

void CallerCore::send(const std::shared_ptr<State>& state, const std::shared_ptr<Attempt>& attempt,
                      Result<HttpRequest> request) {
  if (!request.ok()) return attempt_ended(state, *attempt, request.status());
  const Time now = timer_.now();
  attempt->sent = now;
  attempt->expected_bytes = request->expected_body_bytes;
  Time left = options_.deadline;
  {
    const Lock lock(state->mutex);
    if (state->started) left -= now - state->first_start;
  }
  const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  request->first_byte_within_ms = static_cast<int>(std::max<int64_t>(left_ms, 1));
  request->observer = attempt;
  transport_->send(std::move(*request), state->transfers.get_token(),
                   [self = shared_from_this(), state, attempt](Result<HttpResponse> result) {
                     self->attempt_ended(state, *attempt, std::move(result));
                   });
}

void CallerCore::attempt_started(const std::shared_ptr<State>& state, Attempt& attempt) {
  const Time now = timer_.now();
  attempt.sent = now;
  {
    const Lock lock(state->mutex);
    // Waiting for one of our own connections is not the server's failure.
    if (!state->started) state->first_start = now;
    state->started = true;
  }
  if (!attempt.is_hedge && state->call.hedge && options_.hedge) plan_hedge(state, attempt.expected_bytes);
}

void CallerCore::attempt_ended(const std::shared_ptr<State>& state, const Attempt& attempt,
                               Result<HttpResponse> result) {
  if (result.ok()) ever_answered_.store(true, std::memory_order_relaxed);
  Status error = result.status();
  const bool answered = state->entry->answered();
  const bool throttled = result.ok() && is_throttled(*result);
  std::optional<Time> asked_to_wait;
  if (!answered && result.ok()) {
    if (throttled) {
      counters_.throttled.fetch_add(1, std::memory_order_relaxed);
      if (options_.on_throttled) options_.on_throttled();
    }
    error = state->call.judge(*result);
    asked_to_wait = retry_after(*result, std::chrono::system_clock::now());
  }
  bool other_runs = false;
  {
    const Lock lock(state->mutex);
    other_runs = --state->in_flight > 0;
    state->throttled |= throttled;
  }
  if (answered) return;
  if (error.ok()) return succeeded(*state, attempt, std::move(*result));
  if (error.code() != Code::kUnavailable) {
    state->entry->answer(std::move(error).with_key(state->call.name));
  } else if (!other_runs) {  // otherwise the other attempt may still succeed
    failed(state, std::move(error), asked_to_wait, !result.ok());
  }
}

void CallerCore::succeeded(State& state, const Attempt& attempt, HttpResponse response) {
  if (attempt.is_hedge) counters_.hedges_won.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes.fetch_add(response.body.size(), std::memory_order_relaxed);
  latencies_.add(attempt.expected_bytes, timer_.now() - attempt.sent);
  bool give_back = false;
  {
    const Lock lock(state.mutex);
    give_back = state.charged && state.throttled;
  }
  if (give_back) retry_budget_.give_back();
  state.entry->answer(std::move(response));
}

std::optional<std::string> CallerCore::charge_retry(State& state, Time elapsed, Time wait) {
  const int attempts = state.attempts;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  if (elapsed + wait >= options_.deadline) return fmt::format("{} attempts in {:.1f} s", attempts, seconds);
  const bool known = ever_answered_.load(std::memory_order_relaxed);
  const bool enough = known ? attempts >= options_.attempts && elapsed >= options_.outage
                            : attempts >= 2 && elapsed >= options_.first_outage;
  if (enough) return fmt::format("{} attempts in {:.1f} s", attempts, seconds);
  if (state.charged) return std::nullopt;
  if (!retry_budget_.take()) {
    counters_.over_budget.fetch_add(1, std::memory_order_relaxed);
    return fmt::format(
        "not tried again, for more than {:.0f} % of all requests had to be: the storage is failing or overloaded; "
        "lower the number of requests",
        options_.retry_share * 100);
  }
  state.charged = true;
  return std::nullopt;
}

void CallerCore::failed(const std::shared_ptr<State>& state, Status error, std::optional<Time> asked_to_wait,
                        bool connection) {
  const Time now = timer_.now();
  std::optional<std::string> give_up;
  Time wait{0};
  {
    const Lock lock(state->mutex);
    const int doublings = std::min(state->attempts - 1, 20);
    const Time longest = std::min<Time>(options_.backoff * (int64_t{1} << doublings), options_.longest_backoff);
    wait = std::chrono::duration_cast<Time>(longest * random_());
    // Jitter keeps calls that were turned away together from coming back together.
    if (asked_to_wait) wait = std::min<Time>(*asked_to_wait, options_.longest_retry_after) + wait / 4;
    give_up = charge_retry(*state, now - state->first_start, wait);
    state->hedged = false;
  }
  if (give_up) {
    state->entry->answer(unavailable(fmt::format("{} ({})", error.message(), *give_up)).with_key(state->call.name));
    return;
  }
  (connection ? counters_.retries_connection : counters_.retries_status).fetch_add(1, std::memory_order_relaxed);
  forget_hedge(*state);
  const bool set = timer_.at(now + wait, [self = shared_from_this(), state] { self->start_attempt(state, false); });
  if (!set)
    state->entry->answer(
        unavailable("no thread could be started; raise the limit of processes (ulimit -u)").with_key(state->call.name));
}

void CallerCore::plan_hedge(const std::shared_ptr<State>& state, uint64_t expected_bytes) {
  const auto recent = latencies_.recent(expected_bytes);
  if (!recent) return;
  // If all requests take about the same time, none is slow and a hedged request only costs; the
  // last requests of a queue take two or three times as long.
  const Time due = timer_.now() + std::max<Time>({recent->quantile, 4 * recent->median, options_.hedge_after_at_least});
  {
    const Lock lock(hedge_mutex_);
    if (state->hedge_entry || state->entry->answered()) return;
    state->hedge_entry = hedge_queue_.emplace(due, state);
  }
  arm_hedges(Time(0));
}

void CallerCore::forget_hedge(State& state) {
  const Lock lock(hedge_mutex_);
  if (state.hedge_entry) hedge_queue_.erase(*std::exchange(state.hedge_entry, std::nullopt));
}

void CallerCore::arm_hedges(Time at_least) {
  const Lock lock(hedge_mutex_);
  if (hedges_armed_ || hedge_queue_.empty()) return;
  const Time when = std::max(hedge_queue_.begin()->first, at_least);
  // Lock order: the queue's, then the timer's. The timer calls without its own lock.
  hedges_armed_ = timer_.at(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->send_hedges();
  });
}

void CallerCore::send_hedges() {
  const Time now = timer_.now();
  std::vector<std::shared_ptr<State>> slow;
  {
    const Lock lock(hedge_mutex_);
    hedges_armed_ = false;
    while (!hedge_queue_.empty() && hedge_queue_.begin()->first <= now) {
      if (auto state = hedge_queue_.begin()->second.lock()) {
        state->hedge_entry.reset();
        slow.push_back(std::move(state));
      }
      hedge_queue_.erase(hedge_queue_.begin());
    }
  }
  for (const auto& state : slow) {
    if (!try_begin_hedge(*state)) continue;
    counters_.hedges.fetch_add(1, std::memory_order_relaxed);
    start_attempt(state, true);
  }
  arm_hedges(now + kHedgeTick);
}

bool CallerCore::try_begin_hedge(State& state) {
  const Lock lock(state.mutex);
  if (state.hedged || state.in_flight != 1 || state.throttled || state.entry->answered()) return false;
  if (retry_budget_.empty() || !hedge_budget_.take()) return false;
  state.hedged = true;
  return true;
}

CallerStats CallerCore::stats() const {
  CallerStats stats = counters_.snapshot();
  const StoreStats calls = calls_.stats();
  stats.calls = calls.requests;
  stats.seconds = calls.seconds;
  return stats;
}

class Caller final : public RetryingCaller {
 public:
  Caller(std::shared_ptr<HttpTransport> transport, CallerOptions options)
      : core_(std::make_shared<CallerCore>(std::move(transport), std::move(options))) {}

  ~Caller() override {
    if (process_generation() != generation_) {  // a fork: the timer's thread is not here
      new std::shared_ptr<CallerCore>(std::move(core_));
      return;
    }
    core_->close();
  }

  void call(HttpCall call, std::stop_token stop, Done done) override {
    if (process_generation() != generation_) {
      done(invalid_argument("this store was made before a fork; open the data again in the new process")
               .with_key(call.name));
      return;
    }
    const auto core = core_;  // an answer may be the caller's end
    core->call(std::move(call), std::move(stop), std::move(done));
  }
  CallerStats stats() const override { return core_->stats(); }
  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return core_->idle_memory(); }
  void close() override {
    const auto core = core_;
    core->close();
  }
  void advance(std::chrono::nanoseconds by) override {
    const auto core = core_;
    core->advance(by);
  }

 private:
  const uint64_t generation_ = process_generation();
  std::shared_ptr<CallerCore> core_;
};

}  // namespace

void CallerStats::add_to(StoreStats& stats) const {
  stats.attempts = attempts;
  stats.retries = retries;
  stats.throttled = throttled;
  stats.timeouts = timeouts;
  stats.hedges = hedges;
  stats.hedges_won = hedges_won;
}

std::shared_ptr<RetryingCaller> retrying_caller(std::shared_ptr<HttpTransport> transport, CallerOptions options) {
  return std::make_shared<Caller>(std::move(transport), std::move(options));
}

}  // namespace forebay
