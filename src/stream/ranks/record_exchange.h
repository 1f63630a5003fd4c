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

/// Brings the records that steps of this rank wait for, from its own disk and from the ranks that
/// have them. A record whose rank is gone, or no longer has it, is read again from the log. A
/// record that the log has deleted, too, may get a replacement, which is counted.
///
/// Methods may be called from any thread. A thread of its own does the work, and calls `ask` and
/// the arrival function without a lock.
class RecordExchange {
 public:
  /// Requests records from a rank and waits for the answer: Decisions::ask().
  using Ask = std::function<Result<std::vector<ResponseItem>>(int rank, std::span<const int64_t> numbers,
                                                              const std::stop_token& stop)>;
  /// `records` must outlive close().
  RecordExchange(AwaitedRecords& records, Ask ask, const StreamClock& clock = StreamClock::real());
  ~RecordExchange() { close(); }

  /// Sets the function that is called when records have arrived or failure() has changed. To be
  /// called before the first start_fetch().
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  /// Begins to bring records that are not in memory here. For replayed samples these are what
  /// ReplayRecords::pin() returned.
  void start_fetch(std::span<const int64_t> numbers);
  /// Drops all records that are waited for: the next ones are of another run.
  void begin_run();
  void close();

  /// The reason why a record can never be brought; ok if there is none.
  Status failure() const;
  /// Describes the records that are waited for, for log messages; empty if there are none.
  std::string awaited() const;

  struct Stats {
    int64_t received = 0, reread = 0, lost = 0;  ///< records
  };
  Stats stats() const;

 private:
  using Time = StreamClock::Time;
  enum class Outcome : uint8_t { kUnknown, kNotYet, kFromDisk, kReceived, kReread, kLost };
  struct Pending {
    int64_t number = 0;
    Time since;
    Outcome outcome = Outcome::kUnknown;
  };
  void run_fetches(const std::stop_token& stop);
  Status fetch(std::map<int, std::vector<Pending>>& asked, const std::stop_token& stop);
  std::map<int, std::vector<Pending>> next_by_owner() FOREBAY_REQUIRES(mutex_);
  void read_disk(std::vector<Pending>& records);
  void ask_owner(int owner, std::vector<Pending>& records, const std::stop_token& stop);
  Status fetch_without_owner(Pending& record, const std::stop_token& stop);
  bool finish_arrived(const std::map<int, std::vector<Pending>>& asked) FOREBAY_REQUIRES(mutex_);

  AwaitedRecords& records_;
  const Ask ask_;
  const StreamClock& clock_;
  std::function<void()> arrived_;
  struct Owner {
    PeerHealth health;
    size_t most = 256;  // records of one request
  };
  std::map<int, Owner> owners_;  // used by the thread alone
  mutable Mutex mutex_;
  StoppableCondVar changed_;
  std::map<int64_t, Time> wanted_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t run_ FOREBAY_GUARDED_BY(mutex_) = 0;
  Status failure_ FOREBAY_GUARDED_BY(mutex_);
  Stats stats_ FOREBAY_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace forebay
