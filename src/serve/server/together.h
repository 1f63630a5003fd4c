#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "loader/samples/pass_results.h"
#include "serve/server/feed.h"
#include "serve/server/lateness.h"
#include "serve/wait_clock.h"

namespace forebay {

/// Numbers of batches, which show what together=True saved.
struct TogetherCounts {
  uint64_t computed = 0, delivered = 0;  ///< batches computed, and batches delivered to clients
};

/// A run whose steps are computed once for several clients. It begins at some state and continues
/// as long as a client has a seat. It retains a window of the latest steps.
///
/// The run waits for a client that is a whole window late, but only for `patience` (see Lateness).
/// Then the client loses its seat, and the same batches are computed for that client alone.
///
/// Any thread may call any function. The thread of the client that needs the next step computes it.
class TogetherRun {
 public:
  /// Called when seats are still free after that minute, before the run begins without them. May
  /// refuse the run.
  using OnIncomplete = std::function<void()>;
  /// The first step waits until `group_size` seats are taken, for a minute at most. `clock`
  /// outlives the run, and measures that wait and `patience`.
  TogetherRun(
      std::shared_ptr<Loader> loader, int group_size, std::chrono::milliseconds patience,
      WaitClock& clock = WaitClock::real(), OnIncomplete on_incomplete = [] {});

  struct Step {
    Result<Batch> batch;        ///< the batch, or the error in its place
    std::string before, after;  ///< states of the loader
  };
  using StepPtr = std::shared_ptr<const Step>;

  /// Position of a client among the steps. The client owns it and calls leave() before its end.
  struct Seat {
    uint64_t next = 0;
    bool lost = true;
    Lateness lateness = {};  ///< how long the others have waited for this client
  };
  /// Takes a seat at `state`. Returns false if neither a retained step nor the next one begins
  /// there.
  bool take_seat(Seat& seat, const std::string& state);
  void leave(Seat& seat);
  /// Returns whether the seat is still valid. next_step() of another client may have revoked it.
  bool seated(const Seat& seat) const;
  /// Returns the client's next step, and computes it if no other thread does. Returns null if the
  /// step is not ready in time or the seat is lost. An error that is not part of a step, such as
  /// Cancelled, is returned to this caller only.
  Result<StepPtr> next_step(Seat& seat, std::chrono::milliseconds timeout);

  size_t seats() const;
  /// Whether the first step waits for clients that have no seat yet.
  bool awaits_group() const;
  /// Makes next_step() return this error to all clients from now on. Returns false, and does
  /// nothing, if the first step no longer waits.
  bool refuse(const Status& why);
  /// Returns true if no step follows: the last epoch is over, or the next one is empty.
  bool over() const;
  const Loader& loader() const { return *loader_; }
  TogetherCounts counts() const;
  void close();

 private:
  bool awaits_seats() const FOREBAY_REQUIRES(mutex_);
  bool awaits_late_client() const FOREBAY_REQUIRES(mutex_);
  bool overdue(WaitClock::TimePoint now) const FOREBAY_REQUIRES(mutex_);
  void begin_incomplete(Lock& lock) FOREBAY_REQUIRES(mutex_);
  void revoke_late_seats(WaitClock::TimePoint now) FOREBAY_REQUIRES(mutex_);
  StepPtr retained_step(Seat& seat) FOREBAY_REQUIRES(mutex_);
  Status compute_step(Lock& lock, std::chrono::milliseconds timeout) FOREBAY_REQUIRES(mutex_);
  void retain(Step step) FOREBAY_REQUIRES(mutex_);

  const std::shared_ptr<Loader> loader_;
  const int group_size_;  ///< seats that the first step waits for
  const std::chrono::milliseconds patience_;
  WaitClock& clock_;
  const OnIncomplete on_incomplete_;
  const WaitClock::TimePoint opened_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Seat*> seats_ FOREBAY_GUARDED_BY(mutex_);
  std::deque<StepPtr> steps_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t first_ FOREBAY_GUARDED_BY(mutex_) = 0;  ///< number of steps_.front()
  size_t window_ FOREBAY_GUARDED_BY(mutex_) = 2;   ///< most steps that are retained
  std::string state_ FOREBAY_GUARDED_BY(mutex_);   ///< state at which the next step begins
  bool computing_ FOREBAY_GUARDED_BY(mutex_) = false;
  bool begun_ FOREBAY_GUARDED_BY(mutex_) = false;
  bool over_ FOREBAY_GUARDED_BY(mutex_) = false;
  TogetherCounts counts_ FOREBAY_GUARDED_BY(mutex_);
  Status refused_ FOREBAY_GUARDED_BY(mutex_);
};

/// Everything that determines batches. Equal keys mean equal batches at equal states.
struct TogetherKey {
  TogetherKey(const char* all) : batches(all) {}
  TogetherKey(std::string all_but_functions, std::vector<std::string> of_steps)
      : batches(std::move(all_but_functions)), functions(std::move(of_steps)) {}
  auto operator<=>(const TogetherKey&) const = default;

  std::string batches;                 ///< all but the functions
  std::vector<std::string> functions;  ///< PortableCode::functions
};

/// All runs of a server, by the key of their batches. Any thread may call any function.
class TogetherRuns {
 public:
  explicit TogetherRuns(std::chrono::milliseconds patience, WaitClock& clock = WaitClock::real())
      : patience_(patience), clock_(clock) {}
  /// Opens a loader. `stop` ends the opening.
  using Open = std::function<Result<std::shared_ptr<Loader>>(const std::stop_token& stop)>;

  /// Finds a run of that key and takes a seat at `state`. If there is none, opens one with `open`,
  /// which may take long. Returns Cancelled if `stop` was requested.
  ///
  /// A run of a group that is incomplete after a minute gets StateMismatch if another incomplete run
  /// has the same batches but for a function, and so does the other one. Until then both may be whole
  /// groups whose loaders come one by one.
  Result<std::shared_ptr<TogetherRun>> join(const TogetherKey& key, const std::string& state, int group_size,
                                            TogetherRun::Seat& seat, const Open& open, const std::stop_token& stop);
  /// Takes a seat at `state` in a run other than `own`. Returns null if there is no such run.
  std::shared_ptr<TogetherRun> join_other(const TogetherKey& key, const TogetherRun* own, const std::string& state,
                                          TogetherRun::Seat& seat);
  /// Reports that a client has left `run`. Closes the run if that was the last one.
  void release(const TogetherKey& key, const std::shared_ptr<TogetherRun>& run);
  /// Returns the results of the passes of all loaders of that key, as long as anybody holds them.
  std::shared_ptr<PassResults> passes(const TogetherKey& key);
  TogetherCounts counts() const;

 private:
  Result<std::shared_ptr<TogetherRun>> open_at(const TogetherKey& key, const std::string& state, int seats,
                                               const Open& open, const std::stop_token& stop);
  void refuse_unlike(const TogetherKey& key);

  const std::chrono::milliseconds patience_;
  WaitClock& clock_;
  mutable Mutex mutex_;
  StoppableCondVar opened_;
  /// Keys for which a thread opens a loader, without the lock.
  std::set<TogetherKey> opening_ FOREBAY_GUARDED_BY(mutex_);
  std::multimap<TogetherKey, std::shared_ptr<TogetherRun>> runs_ FOREBAY_GUARDED_BY(mutex_);
  std::map<TogetherKey, std::weak_ptr<PassResults>> passes_ FOREBAY_GUARDED_BY(mutex_);
  TogetherCounts ended_ FOREBAY_GUARDED_BY(mutex_);
};

/// Returns the feed of a client that takes part in such runs. The feed has a seat when it is
/// returned; `stop` ends the search for one. If the client loses its seat later, the next run is
/// opened on another thread. `position` is a loader that computes nothing and only records where
/// the client is.
Result<std::unique_ptr<Feed>> together_feed(std::shared_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs,
                                            TogetherKey key, int group_size, TogetherRuns::Open open,
                                            const std::stop_token& stop);

}  // namespace forebay
