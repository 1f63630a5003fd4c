#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// Brings the records that a rank's steps have, where another rank reads them.
class StepRecords {
 public:
  virtual ~StepRecords() = default;
  /// Steps of this rank have these, which the stream knows: from here on they are on their way.
  virtual void bring(std::span<const int64_t> numbers) = 0;
  virtual bool here(std::span<const int64_t> numbers) const = 0;
  /// What is waited for, for the log; empty: nothing.
  virtual std::string awaited() const = 0;
};

}  // namespace forebay
