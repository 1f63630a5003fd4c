#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cluster/transport.h"
#include "stream/kept_records.h"
#include "stream/ranks/dealt_log.h"
#include "stream/ranks/dealt_rows.h"
#include "stream/ranks/followed_chunks.h"
#include "stream/ranks/rank_answers.h"
#include "stream/stream.h"

namespace forebay {

/// How the ranks of a job give one stream: rank 0 decides which records each chunk has, and the others ask it, chunk after chunk. An answer is tens of bytes; one
/// that is lost is asked for again. Whoever decides keeps as many chunks as the slowest rank may lag behind, and decides no more before that has asked.
/// Over the same connections they lend each other the old records that they keep, and give each other what each reads for all.
class Decisions {
 public:
  /// Listens at that address. Errors: of Transport::listen().
  static Result<std::shared_ptr<Decisions>> open(std::shared_ptr<Transport> transport, const PeerHost& own);
  ~Decisions();

  /// Where it listens.
  const std::string& address() const { return listening_->address(); }
  /// One host of each rank, of which `rank` is this one.
  void know(std::vector<PeerHost> hosts, int rank);
  void keep_until_closed(std::shared_ptr<const void> held) { held_ = std::move(held); }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(hosts_.size()); }
  /// From now on `stream` decides for all (rank 0), or follows. The stream must live until close().
  /// `terms`: what all ranks must have alike; a rank that has not gets the stream's failure, StateMismatch.
  void lead_or_follow(Stream& stream, RunTerms terms = {});
  /// What this rank keeps, or reads, it gives to the others from now on.
  void lend(std::shared_ptr<const KeptRecords> kept) { answers_->lend(std::move(kept)); }
  void share(std::shared_ptr<RecordShelf> shelf, size_t partitions);

  /// Ask a rank, of each key of which one answer comes: for records that it keeps, as KeptRecords::bytes_of(); for what it has read, as RecordShelf::notes(), and for
  /// records of that, as RecordShelf::row(). They wait, at most a second; errors of Transport::fetch().
  Result<std::vector<AnsweredKey>> ask_for_records(int rank, std::span<const int64_t> numbers,
                                                   const std::stop_token& stop) const;
  Result<std::vector<AnsweredKey>> ask_for_notes(int rank, std::span<const DealtLog::NotesWanted> wanted,
                                                 const std::stop_token& stop) const;
  Result<std::vector<AnsweredKey>> ask_for_rows(int rank, std::span<const DealtRows::Asked> wanted,
                                                const std::stop_token& stop) const;
  /// Before the stream seeks, on all ranks alike: what was decided before is of another run.
  void begin_anew();
  void close();

 private:
  explicit Decisions(std::shared_ptr<Transport> transport);
  void say_goodbye();
  void watch_others(Stream& stream, const std::stop_token& stop) const;
  Result<std::vector<AnsweredKey>> ask(int rank, std::vector<WantedKey> wanted, const std::stop_token& stop) const;

  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<RankAnswers> answers_;
  std::shared_ptr<FollowedChunks> followed_;  // null: of rank 0
  std::vector<PeerHost> hosts_;
  int rank_ = 0;
  std::atomic<uint64_t> seeks_ = 0;
  int readers_ = 1;  // ranks below that are asked for anything
  std::unique_ptr<Listening> listening_;
  std::shared_ptr<const void> held_;
  std::jthread watching_;  // of rank 0: whether the others are there
};

}  // namespace forebay
