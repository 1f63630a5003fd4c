#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// Fetches the records of this rank's steps that other ranks read from the log. A StreamItinerary
/// calls it, from any thread.
class StepRecords {
 public:
  virtual ~StepRecords() = default;
  /// Begins to fetch records of this rank's steps, which must be decided. Does not wait.
  virtual void start_fetch(std::span<const int64_t> numbers) = 0;
  virtual bool all_available(std::span<const int64_t> numbers) const = 0;
  /// The records that are awaited, for the user's log; empty if there are none.
  virtual std::string awaited() const = 0;
};

}  // namespace forebay
