#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// The name under which rank 0 tells its settings.
inline constexpr std::string_view kRunServiceName = "run";

/// Tells the other ranks the settings of this one, from when they are known. From any thread.
class RunService final : public Service {
 public:
  void set_terms(RunTerms terms);
  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  std::mutex mutex_;
  std::optional<RunTerms> terms_;
};

/// Finds out whether a rank has the settings that rank 0 has. Rank 0 is asked until it has told them; a
/// rank 0 that is away, or answers nonsense to look(), is no error. From any thread.
class RunCheck {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock

  RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms);
  /// Does not wait for an answer that is on its way.
  ~RunCheck() { stop_.request_stop(); }

  /// StateMismatch from when rank 0 has told other settings, and OK before. Does not wait: rank 0 is asked
  /// meanwhile, after growing pauses.
  Status look(Time now);
  /// Asks rank 0 and waits for its answer: whether it has told the same settings, false where it has not set
  /// them yet. StateMismatch as look(); otherwise errors of Transport::call(), Corrupt for nonsense.
  Result<bool> ask(const std::stop_token& stop);

 private:
  struct Known;

  const std::shared_ptr<Transport> transport_;
  const PeerHost leader_;
  const std::shared_ptr<Known> known_;  ///< outlives the check where an answer comes late
  std::stop_source stop_;
};

}  // namespace forebay
