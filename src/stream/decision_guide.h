#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "stream/decision.h"

namespace forebay {

/// The decisions of an earlier run (from a journal) or of another rank. A stream with a guide
/// follows them and decides nothing itself.
///
/// The stream shares it, and calls all methods under its lock, so they must not wait.
class DecisionGuide {
 public:
  virtual ~DecisionGuide() = default;
  enum class Kind : uint8_t { kDecision, kNotYet, kEnd };
  struct Answer {
    Kind kind = Kind::kEnd;
    Decision decision;  ///< with kDecision
  };
  /// The decision that begins with record `first`. After kNotYet the guide's owner calls
  /// Stream::look_again() as soon as there is another answer.
  virtual Result<Answer> at(int64_t first) = 0;
  /// The offsets after which a run of StreamOptions::from_now begins, if they are known before its
  /// first decision. The guide's owner calls Stream::look_again() as soon as they are.
  virtual std::optional<std::vector<std::string>> beginning() { return std::nullopt; }
  /// The reason of kNotYet, for the user's log.
  virtual std::string awaited() const { return {}; }
};

}  // namespace forebay
