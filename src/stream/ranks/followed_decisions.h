#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "cluster/job.h"
#include "stream/ranks/rank_messages.h"
#include "stream/stream.h"
#include "stream/stream_clock.h"

namespace forebay {

/// The guide of a stream that follows the decisions of rank 0. A thread of its own requests them
/// ahead of need, once rank 0 has confirmed that both ranks have the same settings
/// (Job::ask_run()). It stores a bounded number of decisions that the stream has not made yet. The
/// stream fails if rank 0 is silent, or in another run than this rank, for longer than
/// kLongestSilence.
///
/// The stream calls at() and beginning() under its lock and must outlive stop().
class FollowedDecisions final : public DecisionGuide {
 public:
  /// `service`: name of the stream's service on rank 0.
  FollowedDecisions(std::shared_ptr<Job> job, Stream& stream, std::string service = std::string(kStreamServiceName),
                    const StreamClock& clock = StreamClock::real());
  ~FollowedDecisions() override { stop(); }
  void stop();

  /// Begins another run: drops the decisions of the previous one.
  void begin_run(uint64_t run);
  Result<Answer> at(int64_t first) override;
  std::optional<std::vector<std::string>> beginning() override;
  std::string awaited() const override;

 private:
  using Asks = RankRequest::Kind;
  using Leader = LeaderResponse::Kind;

  enum class Exchanged : uint8_t {
    kNothing,  // no answer was awaited, or it was for another run or record
    kNoNews,   // ask again after a pause
    kNews,     // the stream should look again
  };
  bool wants_beginning() const FOREBAY_REQUIRES(mutex_) { return asks_beginning_ && !beginning_; }
  bool wants_more() const FOREBAY_REQUIRES(mutex_);
  void request_decisions(std::stop_token stop);
  Exchanged exchange_once(Lock& lock, bool wants, const std::stop_token& stop) FOREBAY_REQUIRES(mutex_);
  bool needs_nothing() const FOREBAY_REQUIRES(mutex_) { return ended_ || !failure_.ok(); }
  bool check_run(const Result<bool>& same) FOREBAY_REQUIRES(mutex_);
  RankRequest request() const FOREBAY_REQUIRES(mutex_);
  bool is_current(const RankRequest& asked) const FOREBAY_REQUIRES(mutex_);
  Result<Buffer> ask(const RankRequest& request, const std::stop_token& stop) const;
  bool apply_response(const RankRequest& request, const Result<Buffer>& answer) FOREBAY_REQUIRES(mutex_);
  bool add_decision(int64_t first, LeaderResponse response) FOREBAY_REQUIRES(mutex_);
  bool is_silent_too_long(const Status& answered) FOREBAY_REQUIRES(mutex_);
  void note_other_run(uint64_t run) FOREBAY_REQUIRES(mutex_);

  const std::shared_ptr<Job> job_;
  const std::string service_;
  const StreamClock& clock_;
  Stream& stream_;
  mutable Mutex mutex_;
  StoppableCondVar changed_;
  uint64_t run_ FOREBAY_GUARDED_BY(mutex_) = 0;
  bool same_run_ FOREBAY_GUARDED_BY(mutex_) = false;  // rank 0 has confirmed that it has the same settings
  bool asks_beginning_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::optional<std::vector<std::string>> beginning_ FOREBAY_GUARDED_BY(mutex_);
  std::optional<int64_t> next_ FOREBAY_GUARDED_BY(mutex_);  // first record of the decision to request
  // Decisions that were received ahead of need, by first record; nothing: the stream's end.
  std::deque<std::pair<int64_t, std::optional<Decision>>> received_ FOREBAY_GUARDED_BY(mutex_);
  bool ended_ FOREBAY_GUARDED_BY(mutex_) = false;
  Status failure_ FOREBAY_GUARDED_BY(mutex_);
  std::string trouble_ FOREBAY_GUARDED_BY(mutex_);
  StreamClock::Time heard_ FOREBAY_GUARDED_BY(mutex_);  // when rank 0 last answered
  std::optional<StreamClock::Time> other_run_since_ FOREBAY_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace forebay
