#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cluster/job.h"
#include "stream/ranks/followed_decisions.h"
#include "stream/ranks/stream_service.h"
#include "stream/replay_records.h"
#include "stream/stream.h"
#include "stream/stream_clock.h"

namespace forebay {

/// The connection of one rank to the other ranks that read the same stream. Rank 0 decides which
/// records come next. The other ranks request each decision, some tens of bytes, and repeat a
/// request whose answer is lost. Rank 0 stores a bounded number of decisions for the slowest rank;
/// beyond that number it decides nothing more until that rank has requested the next one. Over the
/// same connections ranks send each other records of their replay buffers, and the records that
/// each of them reads for all.
///
/// A StreamRun closes it. ask() may be called from any thread. It shares the job with the groups of
/// other streams; the job's listener serves `service` under a name of its own.
class StreamGroup {
 public:
  StreamGroup(std::shared_ptr<Job> job, std::shared_ptr<StreamService> service,
              std::string name = std::string(kStreamServiceName));
  ~StreamGroup();

  int rank() const { return job_->rank(); }
  int ranks() const { return job_->ranks(); }
  const std::shared_ptr<Job>& job() const { return job_; }
  /// Makes `stream` decide for all ranks (rank 0), or follow rank 0. The stream must live until
  /// close(). On a rank whose job has other settings (Job::set_run()) the stream fails with
  /// StateMismatch. The job's settings are set before the stream first seeks.
  void lead_or_follow(Stream& stream);
  /// Lets other ranks request the records of this rank's replay buffer.
  void serve_replay(std::shared_ptr<const ReplayRecords> replay) { service_->serve_replay(std::move(replay)); }
  /// Lets other ranks request the records that this rank reads for all of them.
  void serve_shelf(std::shared_ptr<RecordShelf> shelf, size_t partitions);

  /// Requests records of a rank's replay buffer (kReplayRecords), notes of the records that the
  /// rank has read (kNotes), or these records (kLogRecords). Waits for the response, kRankDeadline
  /// at most, and returns one item for each item of the request. Errors: those of
  /// Transport::call(), and Corrupt for a malformed response.
  Result<std::vector<ResponseItem>> ask(RankRequest::Kind kind, int rank, std::vector<RankItem> items,
                                        const std::stop_token& stop) const;
  /// Begins another run: earlier decisions are dropped. Call it on all ranks, before the
  /// stream seeks.
  void begin_run();
  /// Tells the other ranks that this one requests nothing more.
  void leave();
  /// Leaves, and waits until the other ranks have fetched from this one all that they need, some
  /// seconds after leave() at most. No other rank causes a call of the stream after it. The job's
  /// listener stays open, for other streams.
  void close();

 private:
  void say_goodbye();
  void watch_others(Stream& stream, const std::stop_token& stop) const;

  const std::shared_ptr<Job> job_;
  const std::shared_ptr<StreamService> service_;
  const std::string name_;                       // of `service_`
  std::shared_ptr<FollowedDecisions> followed_;  // null on rank 0
  std::atomic<uint64_t> run_ = 0;
  int readers_ = 1;  // ranks below this number decide or read partitions, and so get requests
  bool has_left_ = false, closed_ = false;
  StreamClock::Time left_at_;  // time of leave()
  std::jthread watching_;      // on rank 0: checks that the other ranks are alive
};

}  // namespace forebay
