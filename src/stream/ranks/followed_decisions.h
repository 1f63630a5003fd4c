#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/job.h"
#include "stream/ranks/rank_messages.h"
#include "stream/stream.h"
#include "stream/stream_clock.h"

namespace forebay {

/// The guide of a stream that follows the decisions of rank 0. A thread of its own requests them
/// ahead of need, once rank 0 has confirmed that both ranks have the same settings
/// (Job::ask_run()).
///
/// The stream calls at() and beginning() under its lock and must outlive stop().
class FollowedDecisions final : public DecisionGuide {
 public:
  /// The stream fails if rank 0 is silent, or in another run than this rank, for longer than that.
  static constexpr std::chrono::seconds kLongestSilence{60};

  FollowedDecisions(std::shared_ptr<Job> job, Stream& stream, const StreamClock& clock = StreamClock::real());
  ~FollowedDecisions() override { stop(); }
  void stop();

  /// Drops the decisions that were received: the next ones are of another run.
  void begin_anew(uint64_t run);
  Result<Answer> at(int64_t first) override;
  std::optional<std::vector<std::string>> beginning() override;
  std::string awaited() const override;

 private:
  using Asks = RankRequest::Kind;
  using Leader = LeaderResponse::Kind;

  bool wants_beginning() const { return asks_beginning_ && !beginning_; }
  bool wants_more() const;
  void ask_on(std::stop_token stop);
  bool has_all() const { return ended_ || !failure_.ok(); }
  bool check_run(const Result<bool>& same);
  RankRequest request() const;
  bool is_current(const RankRequest& asked) const;
  Result<Buffer> ask(const RankRequest& request, const std::stop_token& stop) const;
  bool take(const RankRequest& request, const Result<Buffer>& answer);
  bool take_decision(int64_t first, LeaderResponse response);
  bool note_heard(const Status& answered);
  void note_elsewhere(uint64_t run);

  const std::shared_ptr<Job> job_;
  const StreamClock& clock_;
  Stream& stream_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t run_ = 0;
  bool same_run_ = false;  // rank 0 has confirmed that it has the same settings
  bool asks_beginning_ = false;
  std::optional<std::vector<std::string>> beginning_;
  std::optional<int64_t> next_;  // first record of the decision to request
  // Decisions that were received ahead of need, by first record; nothing: the stream's end.
  std::deque<std::pair<int64_t, std::optional<Decision>>> received_;
  bool ended_ = false;
  Status failure_;
  std::string trouble_;
  StreamClock::Time heard_;  // when rank 0 last answered
  std::optional<StreamClock::Time> elsewhere_since_;
  std::jthread thread_;
};

}  // namespace forebay
