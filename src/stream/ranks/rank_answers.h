#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/key_source.h"
#include "stream/kept_records.h"
#include "stream/ranks/rank_questions.h"
#include "stream/ranks/record_shelf.h"
#include "stream/stream.h"

namespace forebay {

/// What a rank gives to the others: old records that it keeps, what it reads of a shared log, and, of rank 0, what it has decided. Called from the threads of a transport and, under
/// its lock, by the stream that decides.
class RankAnswers final : public KeySource, public ChunkWitness {
 public:
  void know(int rank, int ranks);
  /// The stream that decides for all; null: none any more.
  void lead(Stream* stream);
  void lend(std::shared_ptr<const KeptRecords> kept);
  void share(std::shared_ptr<RecordShelf> shelf);
  /// RunTerms::to_json(), for those who follow.
  void tell_run(std::string terms);
  /// What was decided before is of another run.
  void begin_anew(uint64_t seeks);
  /// Unavailable where, at that time, a rank that has asked for nothing for long is all that keeps more from being decided.
  Status check_heard(std::chrono::steady_clock::time_point now) const;
  /// Waits until all others have been told all that was decided, and have come for what was read for them, or have left; but not for long.
  void linger();

  void decided(const Chunk& chunk) override;
  void begins(const std::vector<std::string>& after) override;
  void ended(int64_t first) override;
  bool may_decide() override;
  std::string awaited() const override;

  std::optional<Buffer> find(const Hash128& key) override;
  std::optional<uint64_t> coming(int64_t element) override;

 private:
  std::optional<Buffer> find_chunk(const RankKey& asked);
  std::optional<Buffer> find_elsewhere(RankQuestion what) const;
  std::optional<Buffer> find_run() const;
  std::optional<Buffer> find_beginning(int rank);
  std::optional<Buffer> leave(int rank);
  void note_heard(int rank);
  int slowest() const;
  bool is_other_rank(int rank) const;
  bool all_are_told() const;
  bool all_have_left() const;
  Stream* note_asked(int rank, int64_t first);
  bool forget_what_all_have();
  template <typename T>
  T under_lock(const T& member) const {
    const std::lock_guard lock(mutex_);
    return member;
  }

  static constexpr int64_t kNever = -2, kKnowsBeginning = -1, kLeft = INT64_MAX;

  mutable std::mutex mutex_;
  std::condition_variable asked_for_;
  Stream* stream_ = nullptr;
  int rank_ = 0;
  uint64_t seeks_ = 0;
  std::optional<std::string> run_, beginning_;
  std::deque<std::pair<int64_t, std::string>> chunks_;
  std::vector<int64_t> asked_;  // by rank: the first record of the last chunk it asked for, or one of these
  std::vector<std::chrono::steady_clock::time_point> heard_;  // by rank: when it last asked for anything
  std::shared_ptr<const KeptRecords> kept_;
  std::shared_ptr<RecordShelf> shelf_;
};

}  // namespace forebay
