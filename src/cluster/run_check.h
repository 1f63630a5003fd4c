#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/mutex.h"
#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// Name of the service by which rank 0 serves its settings.
inline constexpr std::string_view kRunServiceName = "run";

/// Serves the settings of this rank to the others once they are set. Methods may be called from any
/// thread.
class RunService final : public Service {
 public:
  void set_terms(RunTerms terms);
  /// Changes the settings, if they are set.
  void edit(const std::function<void(RunChanges&)>& change);
  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  Mutex mutex_;
  std::optional<RunTerms> terms_ FOREBAY_GUARDED_BY(mutex_);
};

/// Finds out whether a rank has the same settings as rank 0. Asks rank 0 until it has given its
/// settings and has made the changes of this rank; if a run can have changes, also now and then
/// after that, since rank 0 may make changes that this rank does not make. It is not an error if
/// rank 0 is unavailable, or if its answer to poll() is malformed. Methods may be called from any
/// thread.
class RunCheck {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock

  RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms);
  /// Does not wait for an answer in flight.
  ~RunCheck() { stop_.request_stop(); }

  /// Returns StateMismatch once rank 0 is known to have other settings, and OK before. Does not
  /// wait: it asks rank 0 in the background, after growing pauses.
  Status poll(Time now);
  /// Asks rank 0 and waits for its answer. Returns whether rank 0 has the same settings; false if
  /// it has not set them yet. Errors: StateMismatch as in poll(), those of Transport::call(), and
  /// Corrupt for a malformed answer.
  Result<bool> ask(const std::stop_token& stop);
  /// Changes the settings of this rank.
  void edit(const std::function<void(RunChanges&)>& change);
  /// Lets the next poll() ask rank 0 without a pause.
  void ask_soon();

 private:
  struct LeaderTerms;

  const std::shared_ptr<Transport> transport_;
  const PeerHost leader_;
  const std::shared_ptr<LeaderTerms> leader_terms_;  ///< outlives the check if an answer is late
  std::stop_source stop_;
};

}  // namespace forebay
