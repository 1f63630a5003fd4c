#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// Brings the records that a rank's steps have, where another rank reads them.
class StepRecords {
 public:
  virtual ~StepRecords() = default;
  /// Begins to bring records that steps of this rank have. The stream knows them.
  virtual void bring(std::span<const int64_t> numbers) = 0;
  virtual bool here(std::span<const int64_t> numbers) const = 0;
  /// The records that are waited for, for the log; empty: none.
  virtual std::string awaited() const = 0;
};

}  // namespace forebay
