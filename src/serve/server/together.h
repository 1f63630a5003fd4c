#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "serve/server/feed.h"
#include "serve/server/waited_for.h"

namespace forebay {

/// What together=True saved.
struct TogetherCounts {
  uint64_t made = 0, given = 0;  ///< batches
};

/// Steps that several clients get, made once: the last few of a run, which begins at some state and goes on for as long as anybody
/// has a seat. Whoever is a window behind is waited for as long as `patience`, in one piece or in many: then it loses its
/// seat, and its batches, which are the same, are made for it alone.
class TogetherRun {
 public:
  /// `wanted`: seats that the first step waits for, a minute at most.
  TogetherRun(std::unique_ptr<Loader> loader, int wanted, std::chrono::milliseconds patience);

  struct Step {
    Result<Batch> batch;        ///< or the error in its place
    std::string before, after;  ///< states
  };
  using StepPtr = std::shared_ptr<const Step>;

  /// A client's place among the steps.
  struct Seat {
    uint64_t next = 0;
    bool lost = true;
    WaitedFor waited_for = {};
  };
  /// True where a step that is here, or the next one to be made, begins at `state`.
  bool sit(Seat& seat, const std::string& state);
  void leave(Seat& seat);
  /// Whether it still has its place: others may take that.
  bool seated(const Seat& seat) const;
  /// Null: it is not there yet, or the seat is lost. An error that is no step is given to whoever asked.
  Result<StepPtr> take(Seat& seat, std::chrono::milliseconds timeout);

  size_t seats() const;
  /// No step follows: the last epoch is over, or the next one is empty.
  bool over() const;
  const Loader& loader() const { return *loader_; }
  TogetherCounts counts() const;
  void close();

 private:
  using Clock = WaitedFor::Clock;
  using Lock = std::unique_lock<std::mutex>;
  bool waits_for_others(Clock::time_point now);
  bool held_up(Clock::time_point now);
  Status make(Lock& lock, std::chrono::milliseconds timeout);
  void keep(Step step);

  const std::unique_ptr<Loader> loader_;
  const int wanted_;
  const std::chrono::milliseconds patience_;
  const Clock::time_point opened_ = Clock::now();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat*> seats_;
  std::deque<StepPtr> steps_;
  uint64_t first_ = 0;  ///< number of steps_.front()
  size_t window_ = 2;
  std::string state_;  ///< where the next one to be made begins
  bool making_ = false, begun_ = false, over_ = false;
  TogetherCounts counts_;
};

/// The runs of a server. From any thread.
class TogetherRuns {
 public:
  explicit TogetherRuns(std::chrono::milliseconds patience) : patience_(patience) {}
  /// `stop` ends it.
  using Open = std::function<Result<std::unique_ptr<Loader>>(const std::stop_token& stop)>;

  /// The run of that key with a seat at `state`, made with `open` where there is none, which may take long. Cancelled after a stop.
  Result<std::shared_ptr<TogetherRun>> join(const std::string& key, const std::string& state, int wanted,
                                            TogetherRun::Seat& seat, const Open& open, const std::stop_token& stop);
  /// Another one than `own` with such a seat, or null.
  std::shared_ptr<TogetherRun> other(const std::string& key, const TogetherRun* own, const std::string& state,
                                     TogetherRun::Seat& seat);
  /// `run` has one seat less.
  void left(const std::string& key, const std::shared_ptr<TogetherRun>& run);
  TogetherCounts counts() const;

 private:
  Result<std::shared_ptr<TogetherRun>> opened_at(const std::string& state, int seats, const Open& open,
                                                 const std::stop_token& stop) const;

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any opened_;
  std::set<std::string> opening_;  ///< keys for which somebody opens a loader, without the lock
  std::multimap<std::string, std::shared_ptr<TogetherRun>> runs_;
  TogetherCounts ended_;
};

/// A client's part in such runs, with a seat from the beginning. `position`: a loader that makes nothing and stands where the client
/// stands. `stop` ends the opening; loaders that are opened later, where the seat is lost, are opened beside the client's thread.
Result<std::unique_ptr<Feed>> together_feed(std::unique_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs,
                                            std::string key, int wanted, TogetherRuns::Open open,
                                            const std::stop_token& stop);

}  // namespace forebay
