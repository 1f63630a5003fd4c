#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "cluster/items.h"
#include "cluster/peer_health.h"
#include "stream/awaited_records.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Fetches the records that steps of this rank wait for (AwaitedRecords): from its own disk, from
/// the ranks that own them, and, if the owner is gone or no longer has a record, from the log. A
/// record that the log has trimmed, too, may get a replacement, which is counted as lost.
///
/// Owned by a StreamRun or an AssignedReading. Methods may be called from any thread. A thread of
/// its own fetches the records, and calls `ask` and the arrival function without a lock.
class RecordExchange {
 public:
  /// Requests records from a rank and waits for the answer: StreamGroup::ask().
  using Ask = std::function<Result<std::vector<ResponseItem>>(int rank, std::span<const int64_t> numbers,
                                                              const std::stop_token& stop)>;
  /// `records` must outlive close().
  RecordExchange(AwaitedRecords& records, Ask ask, const StreamClock& clock = StreamClock::real());
  ~RecordExchange() { close(); }

  /// Sets the function that is called when records have arrived or failure() has changed. To be
  /// called before the first start_fetch().
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  /// Begins to fetch records that are not in memory here. For replayed samples these are the
  /// records that ReplayRecords::pin() returned.
  void start_fetch(std::span<const int64_t> numbers);
  /// Drops all awaited records: the next ones are of another run.
  void begin_run();
  /// Ends the thread. Waits for a request in progress.
  void close();

  /// The error of a record that cannot be fetched from anywhere; ok if there is none.
  Status failure() const;
  /// Describes the awaited records, for log messages; empty if there are none.
  std::string awaited() const;

  struct Stats {
    int64_t received = 0;  ///< records that other ranks sent
    int64_t reread = 0;    ///< records that were read again from the log
    int64_t lost = 0;      ///< records that were replaced
  };
  Stats stats() const;

 private:
  using Time = StreamClock::Time;
  /// The result of one attempt to fetch a record.
  enum class Outcome : uint8_t {
    kUnknown,   ///< neither disk nor owner has it: read it from the log
    kNotYet,    ///< its owner will have it: ask again later
    kFromDisk,  ///< read from this rank's own disk
    kReceived,  ///< sent by its owner
    kReread,    ///< read again from the log
    kLost,      ///< replaced by another record
  };
  struct Pending {
    int64_t number = 0;
    Time since;
    Outcome outcome = Outcome::kUnknown;
  };
  using PendingByOwner = std::map<int, std::vector<Pending>>;
  // Most records of one request to one rank, each of which takes 8 bytes of the request. Lower than
  // kMaxRankItems, since the whole answer must arrive before the deadline.
  static constexpr size_t kMaxRequested = 256;
  struct Owner {
    PeerHealth health;
    size_t max_records = kMaxRequested;  // of one request
  };
  void run_fetches(const std::stop_token& stop);
  Status fetch(PendingByOwner& pending, const std::stop_token& stop);
  PendingByOwner next_by_owner() FOREBAY_REQUIRES(mutex_);
  void read_disk(std::vector<Pending>& records);
  void ask_owner(int owner, std::vector<Pending>& records, const std::stop_token& stop);
  void take_answer(const std::vector<ResponseItem>& answer, std::vector<Pending>& records);
  Status fetch_without_owner(Pending& record, const std::stop_token& stop);
  bool finish_arrived(const PendingByOwner& pending) FOREBAY_REQUIRES(mutex_);

  AwaitedRecords& records_;
  const Ask ask_;
  const StreamClock& clock_;
  std::function<void()> arrived_;
  std::map<int, Owner> owners_;  // used by the thread alone
  mutable Mutex mutex_;
  StoppableCondVar changed_;
  std::map<int64_t, Time> wanted_ FOREBAY_GUARDED_BY(mutex_);  // by number: time of start_fetch()
  uint64_t run_ FOREBAY_GUARDED_BY(mutex_) = 0;
  Status failure_ FOREBAY_GUARDED_BY(mutex_);
  Stats stats_ FOREBAY_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace forebay
