#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cluster/job.h"
#include "stream/ranks/assigned_log.h"
#include "stream/ranks/assigned_rows.h"
#include "stream/ranks/followed_decisions.h"
#include "stream/ranks/stream_service.h"
#include "stream/replay_records.h"
#include "stream/stream.h"

namespace forebay {

/// The part of a rank in a stream that the ranks of a job read together: rank 0 decides which
/// records come next, and the others ask it for each decision, some tens of bytes; an answer that
/// is lost is asked for again. Rank 0 keeps as many decisions as the slowest rank may lag behind,
/// and decides no more before that rank has asked. Over the same connections ranks lend each other
/// records of their replay buffers, and give each other the records that each reads for all.
///
/// Made and closed by the loader; its threads and the stream's ask other ranks through it. It
/// shares the job, whose listener serves `service`, and ends that listener in close().
class Decisions {
 public:
  Decisions(std::shared_ptr<Job> job, std::shared_ptr<StreamService> service);
  ~Decisions();

  int rank() const { return job_->rank(); }
  int ranks() const { return job_->ranks(); }
  const std::shared_ptr<Job>& job() const { return job_; }
  /// From now on `stream` decides for all (rank 0), or follows. The stream must live until close().
  /// `terms`: what all ranks must have alike; a rank that has not gets the stream's failure,
  /// StateMismatch.
  void lead_or_follow(Stream& stream, RunTerms terms = {});
  /// Gives the records that this rank keeps, or reads, to the others from now on.
  void lend(std::shared_ptr<const ReplayRecords> kept) { service_->lend(std::move(kept)); }
  void share(std::shared_ptr<RecordShelf> shelf, size_t partitions);

  /// Ask a rank and wait, at most for kRankDeadline, for an item for each thing that is wanted:
  /// records that it keeps, notes of what it has read, and rows of that (RecordsWanted,
  /// NotesWanted, RowsWanted). Errors of Transport::call(), and Corrupt for what is no such
  /// response.
  Result<std::vector<ResponseItem>> ask_for_records(int rank, std::span<const int64_t> numbers,
                                                    const std::stop_token& stop) const;
  Result<std::vector<ResponseItem>> ask_for_notes(int rank, std::span<const NotesPlace> wanted,
                                                  const std::stop_token& stop) const;
  Result<std::vector<ResponseItem>> ask_for_rows(int rank, std::span<const SharedRow> wanted,
                                                 const std::stop_token& stop) const;
  /// Before the stream seeks, on all ranks alike: what was decided before is of another run.
  void begin_anew();
  void close();

 private:
  void say_goodbye();
  void watch_others(Stream& stream, const std::stop_token& stop) const;
  Result<std::vector<ResponseItem>> ask(int rank, RankRequest request, size_t items, uint64_t most_bytes,
                                        const std::stop_token& stop) const;

  const std::shared_ptr<Job> job_;
  const std::shared_ptr<StreamService> service_;
  std::shared_ptr<FollowedDecisions> followed_;  // null: of rank 0
  std::atomic<uint64_t> run_ = 0;
  int readers_ = 1;  // ranks below that are asked for anything
  bool closed_ = false;
  std::jthread watching_;  // of rank 0: whether the others are there
};

}  // namespace forebay
