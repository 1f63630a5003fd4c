#pragma once

#include <cstdint>

namespace forebay {

struct ConcurrencyLimits {
  int start = 64;  ///< requests in flight before anything is known
  int least = 1;
  int most = 1024;
};

/// Finds how many requests in flight serve a store best: as many as raise its throughput, and no
/// more. It has no clock and no lock: the caller passes the time in nanoseconds and makes one call
/// at a time.
///
/// The throughput that a request observes is (completions while it was in flight) ÷ (the time it
/// was in flight), as TCP BBR samples delivery rates (Cardwell et al., ACM Queue 2016). Bursts do
/// not distort it.
///
/// From `start` the limit doubles every round trip as long as that raises the throughput by a fifth
/// and requests do not queue at the server. A queue shows as latency, even if other hosts cause it.
/// The limit then stays at almost twice what the link itself holds, because servers do more at a
/// time if some requests wait. Now and then a trial uses a higher limit or, if requests queue, a
/// lower one. Steps become smaller after a trial that did not help, and larger after one that did.
///
/// If a store refuses a tenth of the requests, the limit falls at once and grows back slowly;
/// occasional refusals have no effect. Samples taken while the user requested less than the limit
/// are ignored.
class ConcurrencyControl {
 public:
  explicit ConcurrencyControl(ConcurrencyLimits limits = {});

  /// Declares that this many processes (1 or more), including this one, begin to read from the
  /// store at the same time. Each begins with its part of `start`, but at least 16. It has no
  /// effect after a request was sent. If it is called again, the smallest part counts.
  void divide_start_among(int processes);

  /// A request that was sent. Pass it to on_ended().
  struct Sent {
    int64_t at_ns = 0;
    int64_t completed = 0;
    bool full = false;  ///< about as many were in flight as the limit allows
  };

  /// Records that a request is sent.
  Sent on_sent(int64_t now_ns);
  /// Records that a request has ended. `ok`: it succeeded at the first attempt, so that its time
  /// says something about the store.
  void on_ended(const Sent& sent, int64_t now_ns, bool ok);
  /// Records that the store refused a request as too many.
  void on_throttled();

  int limit() const { return limit_; }
  int in_flight() const { return in_flight_; }

 private:
  enum class Phase : uint8_t { kGrow, kHold, kTryMore, kTryLess, kRecover };
  struct Round {
    // The round ends with a request that was sent after so many completions.
    int64_t begin_completed = 0;
    int64_t samples = 0;
    double rates = 0;       // summed
    double latencies = 0;   // summed
    int64_t ended = 0;      // all requests that ended
    int64_t throttled = 0;  // requests that the store refused
  };

  void end_round();
  void grow(double rate, double latency);
  void hold(double rate, double latency);
  void judge_trial(double rate);
  void recover();
  void enter(Phase phase, int limit);
  int64_t samples_wanted() const;

  ConcurrencyLimits limits_;
  int start_;
  int limit_;
  int in_flight_ = 0;
  int64_t completed_ = 0;
  Phase phase_ = Phase::kGrow;
  Round round_;
  double best_rate_ = 0;         // while growing
  int best_limit_ = 0;           // limit at which it was observed
  int rounds_without_gain_ = 0;  // while growing
  // Least mean latency of a round, in seconds. It rises slowly if all requests take longer.
  double shortest_latency_ = 0;
  double hold_rate_ = 0;    // mean rate at hold_limit_, smoothed
  int hold_limit_ = 0;      // estimated knee of the throughput
  int rounds_held_ = 0;     // since the last trial
  double step_;             // factor of the next trial
  bool less_next_ = false;  // direction of the next trial, if both are possible
  double trial_rates_ = 0;  // summed
  int trial_rounds_ = 0;
  // False during the first round of a phase, which still has requests of the phase before.
  bool warm_ = false;
};

}  // namespace forebay
