#include "store/concurrency_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace forebay {

namespace {

// Minimum for one process, however many there are: distant stores are reached by doubling.
constexpr int kLeastStart = 16;
constexpr double kGrowthGain = 1.2;  // factor that a doubling must gain
constexpr int kGrowthPatience = 2;   // rounds without that gain
constexpr double kHeadroom = 1.75;   // of what the link itself holds, at first
constexpr double kLongStep = 1.5, kShortStep = 1.25;
// Gain that a trial must bring for twice, or half, as many requests.
constexpr double kGainOfMore = 0.07, kGainOfLess = 0;
// Gain that a trial of fewer requests than `start` must bring.
constexpr double kGainBelowStart = 0.04;
constexpr int kRoundsBetweenTrials = 4, kRoundsOfTrial = 2;
constexpr double kForgetting = 0.005;  // of the shortest latency, a round
// Latency over the shortest from which requests count as queueing at the server.
constexpr double kQueueing = 1.5;
// Ratio from which more requests can only queue longer.
constexpr double kLongQueue = 4;
constexpr double kThrottledShare = 0.1;  // of the answers, from which the limit is lowered
constexpr int64_t kFewThrottled = 4;     // in a round
constexpr double kBackOff = 0.7;
constexpr double kRecovery = 1.0 / 16;  // growth a round after the store refused requests
constexpr double kSmoothing = 0.3;
constexpr int64_t kRoundSamples = 256;

double seconds_of(int64_t ns) { return static_cast<double>(std::max<int64_t>(ns, 1)) * 1e-9; }

}  // namespace

ConcurrencyControl::ConcurrencyControl(ConcurrencyLimits limits)
    : limits_(limits), start_(limits.start), limit_(limits.start), step_(kLongStep) {}

void ConcurrencyControl::divide_start_among(int processes) {
  if (completed_ > 0 || in_flight_ > 0 || phase_ != Phase::kGrow) return;
  const int part = std::max(limits_.start / processes, std::min(kLeastStart, limits_.start));
  start_ = limit_ = std::min(start_, part);
}

ConcurrencyControl::Sent ConcurrencyControl::on_sent(int64_t now_ns) {
  ++in_flight_;
  // Nearly full counts as full, because refilling takes a moment and the last slots are seldom all
  // taken.
  return {now_ns, completed_, in_flight_ >= limit_ - limit_ / 8};
}

void ConcurrencyControl::on_ended(const Sent& sent, int64_t now_ns, bool ok) {
  // The request's slot is free in any case. Its sample counts only if its time says something
  // about the store.
  --in_flight_;
  ++round_.ended;
  if (!ok) return;
  // Failures are not counted: a short error answer comes sooner than data, and would look like
  // speed.
  ++completed_;
  if (!sent.full) return;
  const double seconds = seconds_of(now_ns - sent.at_ns);
  ++round_.samples;
  // The throughput of the whole link while this request was in flight, as in BBR. The mean over a
  // round smooths bursts.
  round_.rates += static_cast<double>(completed_ - sent.completed) / seconds;
  round_.latencies += seconds;
  if (sent.completed >= round_.begin_completed && round_.samples >= samples_wanted()) end_round();
}

// A decision about the knee needs more samples than one about growth, in which each round trip
// counts.
int64_t ConcurrencyControl::samples_wanted() const {
  if (phase_ == Phase::kGrow) return std::min<int64_t>(limit_ / 2, 256);
  if (phase_ == Phase::kRecover) return limit_;
  return std::max<int64_t>(4 * limit_, kRoundSamples);
}

void ConcurrencyControl::on_throttled() {
  ++round_.throttled;
  const bool many =
      static_cast<double>(round_.throttled) > kThrottledShare * static_cast<double>(round_.ended + round_.throttled);
  if (round_.throttled < kFewThrottled || !many) return;
  enter(Phase::kRecover, static_cast<int>(limit_ * kBackOff));
}

void ConcurrencyControl::enter(Phase phase, int limit) {
  phase_ = phase;
  limit_ = std::clamp(limit, limits_.least, limits_.most);
  round_ = {};
  round_.begin_completed = completed_;
  warm_ = false;
}

void ConcurrencyControl::end_round() {
  const Round over = round_;
  round_ = {};
  round_.begin_completed = completed_;
  const double count = static_cast<double>(over.samples);
  const double rate = over.rates / count, latency = over.latencies / count;
  if (shortest_latency_ == 0 || latency < shortest_latency_) shortest_latency_ = latency;
  // Lets the value rise slowly, so that a link that became slower for good does not look like a
  // queue forever.
  shortest_latency_ += kForgetting * (latency - shortest_latency_);
  if (phase_ == Phase::kGrow) return grow(rate, latency);
  if (phase_ == Phase::kRecover) return recover();
  // The first round after a change of the limit still has requests that were sent under the old
  // limit.
  if (!std::exchange(warm_, true)) return;
  if (phase_ == Phase::kHold) return hold(rate, latency);
  judge_trial(rate);
}

void ConcurrencyControl::grow(double rate, double latency) {
  const bool queueing = latency > kLongQueue * shortest_latency_;
  // If other hosts share the server, more requests gain throughput even when all of them only wait
  // longer: they take it from the others.
  const bool waits = latency > kQueueing * shortest_latency_;
  const bool gained = rate >= kGrowthGain * best_rate_ && !waits;
  best_rate_ = std::max(best_rate_, rate);
  if (gained && !queueing) {
    best_limit_ = limit_;
    rounds_without_gain_ = 0;
  } else if (++rounds_without_gain_ >= kGrowthPatience || queueing) {
    // Twice the best limit was no better, so the knee is near it. What the link itself holds is the
    // minimum.
    const int held = static_cast<int>(std::ceil(best_rate_ * shortest_latency_ * kHeadroom));
    hold_limit_ = std::clamp(std::max(held, std::min(best_limit_, start_)), limits_.least, limits_.most);
    hold_rate_ = 0;
    return enter(Phase::kHold, hold_limit_);
  }
  // At `most` the limit stays; two rounds without a gain then end the growth.
  if (rounds_without_gain_ == 0) limit_ = std::min(2 * limit_, limits_.most);
}

void ConcurrencyControl::hold(double rate, double latency) {
  hold_rate_ = hold_rate_ == 0 ? rate : hold_rate_ + kSmoothing * (rate - hold_rate_);
  if (++rounds_held_ < kRoundsBetweenTrials) return;
  rounds_held_ = 0;
  const double queue = latency / shortest_latency_;
  const bool less = queue > kLongQueue || (queue > kQueueing && less_next_);
  const int other = static_cast<int>(std::lround(less ? hold_limit_ / step_ : hold_limit_ * step_));
  // At least one more or less: rounding could make a trial of a small limit a repetition.
  const int step = less ? std::min(other, hold_limit_ - 1) : std::max(other, hold_limit_ + 1);
  if (step < limits_.least || step > limits_.most) {
    less_next_ = !less;
    return;
  }
  trial_rates_ = 0;
  trial_rounds_ = 0;
  enter(less ? Phase::kTryLess : Phase::kTryMore, step);
}

void ConcurrencyControl::judge_trial(double rate) {
  trial_rates_ += rate;
  if (++trial_rounds_ < kRoundsOfTrial) return;
  const double mean = trial_rates_ / trial_rounds_;
  const double doublings = std::abs(std::log2(static_cast<double>(limit_) / hold_limit_));
  // Small losses in each trial would add up, so fewer requests must be better, not just no worse.
  const bool more = phase_ == Phase::kTryMore;
  const double gain = more ? kGainOfMore : limit_ < start_ ? kGainBelowStart : kGainOfLess;
  const bool better = mean >= hold_rate_ * (1 + gain * doublings);
  if (better) {
    hold_limit_ = limit_;
    hold_rate_ = mean;
  }
  less_next_ = better ? !more : more;
  step_ = better ? kLongStep : kShortStep;
  enter(Phase::kHold, hold_limit_);
}

// Grows up to the limit at which the store refused requests, and no faster than it can refuse
// again; trials continue from there.
void ConcurrencyControl::recover() {
  const int grown = limit_ + std::max(1, static_cast<int>(limit_ * kRecovery));
  if (hold_limit_ > 0 && grown >= hold_limit_) {
    hold_rate_ = 0;
    return enter(Phase::kHold, hold_limit_);
  }
  limit_ = std::min(grown, limits_.most);
}

}  // namespace forebay
