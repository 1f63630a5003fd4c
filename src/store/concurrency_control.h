#pragma once

#include <cstdint>

namespace forebay {

struct ConcurrencyLimits {
  int start = 64;  ///< in flight before anything is known
  int least = 1;
  int most = 1024;
};

/// Finds how many requests in flight a store serves best: as many as raise its throughput, and no more. Knows no clock and no
/// lock: the caller gives the time in nanoseconds, and one call at a time.
///
/// The throughput that a request saw is (completions while it was away) ÷ (the time it was away), as TCP BBR samples delivery rates (Cardwell et
/// al., ACM Queue 2016): bursts do not mislead it. From `start` the limit doubles every round trip as long as that raises the throughput by a
/// fifth and requests do not queue at the server (which shows as latency, also where other hosts ask it); it then holds nearly twice of what the link itself holds, since servers do
/// more at a time where some requests wait, and now and then tries more or, where requests queue, less: in steps that become smaller where neither
/// helps, and longer where one did. Where a store
/// refuses a tenth of what it is asked the limit falls at once and grows back slowly; a refusal now and then is no reason. Samples taken while the user asked
/// for less than the limit change nothing.
class ConcurrencyControl {
 public:
  explicit ConcurrencyControl(ConcurrencyLimits limits = {});

  /// So many processes (1 or more), this one among them, begin to ask the store at the same time, so that each begins with its part of `start`, or
  /// 16 where that is more. Changes nothing once a request was sent; called again, the least counts.
  void begin_among(int processes);

  /// What a request must bring back.
  struct Sent {
    int64_t at_ns = 0;
    int64_t completed = 0;
    bool full = false;  ///< as many were in flight as the limit allows
  };

  Sent sent(int64_t now_ns);
  /// `ok`: it brought what was asked for at the first attempt, so that its time says something about the store.
  void ended(const Sent& sent, int64_t now_ns, bool ok);
  void throttled();

  int limit() const { return limit_; }
  int in_flight() const { return in_flight_; }

 private:
  enum class Phase : uint8_t { kGrow, kHold, kTryMore, kTryLess, kRecover };
  struct Round {
    int64_t begin_completed = 0;  // the round is over when a request that was sent after so many completions comes back
    int64_t samples = 0;
    double rates = 0;       // summed
    double latencies = 0;   // summed
    int64_t ended = 0;      // all that came back, and
    int64_t throttled = 0;  // what the store refused meanwhile
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
  int best_limit_ = 0;           // where it was seen
  int rounds_without_gain_ = 0;  // while growing
  double shortest_latency_ = 0;  // of a round's mean, in seconds; follows slowly where all take longer
  double hold_rate_ = 0;         // mean rate at hold_limit_, smoothed
  int hold_limit_ = 0;           // the knee, as far as known
  int rounds_held_ = 0;          // since the last trial
  double step_;                  // of the next trial, as a factor
  bool less_next_ = false;       // which way, where both are possible
  double trial_rates_ = 0;       // summed
  int trial_rounds_ = 0;
  bool warm_ = false;  // the first round of a phase still has requests of the one before
};

}  // namespace forebay
