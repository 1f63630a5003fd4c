#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "cluster/transport.h"
#include "stream/ranks/rank_messages.h"
#include "stream/ranks/record_shelf.h"
#include "stream/replay_records.h"
#include "stream/stream.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Answers the requests of the other ranks of a stream: for records of this rank's replay buffer,
/// for notes and records of a log that the ranks read together, and, on rank 0, for decisions.
///
/// The transport's threads call answer(). The stream that decides calls the methods of
/// DecisionObserver under its own lock. The service refers to that stream until
/// set_leader(nullptr), and shares the replay buffer and the shelf.
class StreamService final : public Service, public DecisionObserver {
 public:
  explicit StreamService(const StreamClock& clock = StreamClock::real()) : clock_(clock) {}

  /// Sets this rank and the number of ranks. Call it before any other rank sends a request.
  void set_rank(int rank, int ranks);
  /// Sets the stream that decides for all ranks, on rank 0. Null: there is none any more. Returns
  /// once no call of the stream before it is in progress.
  void set_leader(Stream* stream);
  /// Serves the records of this rank's replay buffer to other ranks.
  void serve_replay(std::shared_ptr<const ReplayRecords> replay);
  /// Serves the notes and records of this rank's shelf to other ranks.
  void serve_shelf(std::shared_ptr<RecordShelf> shelf);
  /// Begins another run: drops all earlier decisions.
  void begin_run(uint64_t run);
  /// Unavailable if no more can be decided until the slowest rank requests a decision, and that
  /// rank has been silent for long.
  Status check_liveness() const;
  /// Waits until all other ranks have requested all decisions and have fetched the records that
  /// were read for them, or have left; at most until some seconds after `since`.
  void linger(StreamClock::Time since);

  void decided(const Decision& decision) override;
  void begins(const std::vector<std::string>& after) override;
  void ended(int64_t first) override;
  bool may_decide() override;
  std::string awaited() const override;

  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  using Kind = LeaderResponse::Kind;
  Buffer find_decision(const RankRequest& request);
  LeaderResponse find_beginning(const RankRequest& request);
  std::vector<FoundItem> find_replay_records(const RankRequest& request) const;
  std::vector<FoundItem> find_notes(const RankRequest& request) const;
  std::vector<FoundItem> find_log_records(const RankRequest& request);
  void note_goodbye(const RankRequest& request);
  std::optional<LeaderResponse> other_run_response(const RankRequest& request) const FOREBAY_REQUIRES(mutex_);
  void note_heard(int rank);
  int slowest() const FOREBAY_REQUIRES(mutex_);
  bool is_other_rank(int rank) const FOREBAY_REQUIRES(mutex_);
  bool all_have_last_decision() const FOREBAY_REQUIRES(mutex_);
  bool all_have_left() const FOREBAY_REQUIRES(mutex_);
  [[nodiscard]] bool note_request(int rank, int64_t first) FOREBAY_REQUIRES(mutex_);
  void let_decide();
  bool drop_acknowledged() FOREBAY_REQUIRES(mutex_);
  template <typename T>
  T under_lock(T StreamService::* member) const {
    const Lock lock(mutex_);
    return this->*member;
  }

  // Values of `last_requested_` that are no record. They are ordered with the records: a rank
  // requests nothing, then the beginning of the run, then decisions, and then it leaves.
  static constexpr int64_t kNothing = -2, kBeginning = -1, kLeft = INT64_MAX;

  const StreamClock& clock_;
  mutable Mutex mutex_;
  CondVar request_arrived_, call_ended_;
  Stream* stream_ FOREBAY_GUARDED_BY(mutex_) = nullptr;
  int calls_ FOREBAY_GUARDED_BY(mutex_) = 0;  // calls of `stream_` in progress
  int rank_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t run_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::optional<std::vector<std::string>> beginning_ FOREBAY_GUARDED_BY(mutex_);
  // Decisions by first record, each as an encoded LeaderResponse; the last one may be the end.
  std::deque<std::pair<int64_t, Buffer>> decisions_ FOREBAY_GUARDED_BY(mutex_);
  // By rank: first record of the last decision that it requested, or one of the constants above.
  std::vector<int64_t> last_requested_ FOREBAY_GUARDED_BY(mutex_);
  std::vector<StreamClock::Time> heard_ FOREBAY_GUARDED_BY(mutex_);  // by rank: time of its last request
  std::shared_ptr<const ReplayRecords> replay_ FOREBAY_GUARDED_BY(mutex_);
  std::shared_ptr<RecordShelf> shelf_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
