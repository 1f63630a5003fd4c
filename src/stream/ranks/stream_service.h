#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/transport.h"
#include "stream/ranks/rank_messages.h"
#include "stream/ranks/record_shelf.h"
#include "stream/replay_records.h"
#include "stream/stream.h"

namespace forebay {

/// Serves the other ranks of a stream: old records that this rank keeps, what it reads of a shared
/// log, and, on rank 0, what it has decided.
///
/// Called from the threads of the transport and, under its lock, by the stream that decides. It
/// refers to that stream, which lead(nullptr) ends, and shares the rest.
class StreamService final : public Service, public DecisionWitness {
 public:
  /// A point in time of any one clock, for all methods alike.
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;
  explicit StreamService(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

  /// Before the others may ask for anything that matters.
  void know(int rank, int ranks);
  /// The stream that decides for all; null: none any more.
  void lead(Stream* stream);
  void lend(std::shared_ptr<const ReplayRecords> kept);
  void share(std::shared_ptr<RecordShelf> shelf);
  /// Forgets what was decided before: it is of another run.
  void begin_anew(uint64_t run);
  /// Unavailable where a rank that has asked for nothing for long is all that keeps more from being
  /// decided.
  Status check_heard() const;
  /// Waits some seconds at most until all others have been told all that was decided, and have come
  /// for what was read for them, or have left.
  void linger();

  void decided(const Decision& decision) override;
  void begins(const std::vector<std::string>& after) override;
  void ended(int64_t first) override;
  bool may_decide() override;
  std::string awaited() const override;

  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  Buffer find_decision(const RankRequest& request, int64_t first);
  LeaderResponse find_beginning(const RankRequest& request);
  std::vector<FoundItem> find_records(const RankRequest& request, const RecordsWanted& wanted) const;
  std::vector<FoundItem> find_notes(const RankRequest& request, const NotesWanted& wanted) const;
  std::vector<FoundItem> find_rows(const RankRequest& request, const RowsWanted& wanted);
  void leave(const RankRequest& request);
  std::optional<LeaderResponse> elsewhere(const RankRequest& request) const;
  void note_heard(int rank);
  int slowest() const;
  bool is_other_rank(int rank) const;
  bool all_are_told() const;
  bool all_have_left() const;
  [[nodiscard]] Stream* note_asked(int rank, int64_t first);
  bool forget_what_all_have();
  template <typename T>
  T under_lock(const T& member) const {
    const std::lock_guard lock(mutex_);
    return member;
  }

  static constexpr int64_t kNever = -2, kKnowsBeginning = -1, kLeft = INT64_MAX;

  const Clock clock_;
  mutable std::mutex mutex_;
  std::condition_variable asked_for_;
  Stream* stream_ = nullptr;
  int rank_ = 0;
  uint64_t run_ = 0;
  std::optional<StreamBeginning> beginning_;
  std::deque<std::pair<int64_t, Buffer>>
      decisions_;               // the first record, and a LeaderResponse: the decision, or the end
  std::vector<int64_t> asked_;  // by rank: the first record of the last decision it asked for, or one of these
  std::vector<Time> heard_;     // by rank: when it last asked for anything
  std::shared_ptr<const ReplayRecords> kept_;
  std::shared_ptr<RecordShelf> shelf_;
};

}  // namespace forebay
