#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cluster/items.h"
#include "cluster/peer_health.h"
#include "stream/awaited_records.h"

namespace forebay {

/// Brings records that steps of this rank wait for from its disk and from the ranks that have them,
/// on a thread of its own. One whose rank is gone, or has it not any more, is read again from the
/// log; for one that the log has forgotten, too, another may stand in, and is counted.
class RecordExchange {
 public:
  /// Asks a rank for records, and waits: Decisions::ask_for_records().
  using Ask = std::function<Result<std::vector<ResponseItem>>(int rank, std::span<const int64_t> numbers,
                                                              const std::stop_token& stop)>;
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;
  RecordExchange(std::shared_ptr<AwaitedRecords> records, Ask ask, Clock clock = std::chrono::steady_clock::now);
  ~RecordExchange() { close(); }

  /// Who is told when records have come, or failure() is another. Before the first bring().
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  /// Those that are not here: of old ones, what ReplayRecords::borrow() gave.
  void bring(std::span<const int64_t> numbers);
  /// Nothing is wanted any more; the next ones are of another run.
  void begin_anew();
  void close();

  /// Why a record will never come.
  Status failure() const;
  /// The records that are waited for, for the log; empty: none.
  std::string awaited() const;

  struct Stats {
    int64_t lent = 0, reread = 0, lost = 0;  ///< records
  };
  Stats stats() const;

 private:
  enum class Outcome : uint8_t { kUnknown, kLater, kFromDisk, kLent, kReread, kLost };
  struct Wanted {
    int64_t number = 0;
    Time since;
    Outcome outcome = Outcome::kUnknown;
  };
  void work(const std::stop_token& stop);
  Status bring_asked(std::map<int, std::vector<Wanted>>& asked, const std::stop_token& stop);
  std::map<int, std::vector<Wanted>> next();
  void read_disk(std::vector<Wanted>& records);
  void ask_owner(int owner, std::vector<Wanted>& records, const std::stop_token& stop);
  Status do_without_owner(Wanted& record, const std::stop_token& stop);
  bool settle(const std::map<int, std::vector<Wanted>>& asked);

  const std::shared_ptr<AwaitedRecords> records_;
  const Ask ask_;
  const Clock clock_;
  std::function<void()> arrived_;
  struct Owner {
    PeerHealth health;
    size_t most = 256;  // records of one question
  };
  std::map<int, Owner> owners_;  // of the thread alone
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<int64_t, Time> wanted_;
  uint64_t run_ = 0;
  Status failure_;
  Stats stats_;
  std::jthread thread_;
};

}  // namespace forebay
