#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "stream/decision.h"

namespace forebay {

/// Decisions that were made before, by a journal, or elsewhere, by another rank. A stream with a
/// guide follows it and decides nothing itself.
///
/// The stream calls all methods under its lock, so they never wait.
class DecisionGuide {
 public:
  virtual ~DecisionGuide() = default;
  enum class Says : uint8_t { kThis, kLater, kEnd };
  struct Answer {
    Says says = Says::kEnd;
    Decision decision;  ///< with kThis
  };
  /// The decision that begins with record `first`. After kLater the guide's owner calls
  /// Stream::look_again() once there is another answer.
  virtual Result<Answer> at(int64_t first) = 0;
  /// The offsets behind which a run of StreamOptions::from_now begins, where they are known before
  /// its first decision. The guide's owner calls Stream::look_again() once they are.
  virtual std::optional<std::vector<std::string>> beginning() { return std::nullopt; }
  /// The reason of kLater, for the log.
  virtual std::string awaited() const { return {}; }
};

}  // namespace forebay
