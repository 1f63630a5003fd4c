#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stream/waiting.h"

namespace forebay {

struct StreamOptions {
  uint64_t seed = 0;
  size_t decision_records = 1;  ///< records that are decided at a time
  bool shuffled = false;        ///< inside a decision
  BufferPolicy policy = BufferPolicy::kBlock;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  uint64_t bytes = uint64_t{64} << 20;     ///< of records in memory, but for what one decision needs
  std::shared_ptr<SpillSpace> spill = {};  ///< with kSpill
  bool skip_trimmed = false;               ///< records that the log has forgotten are no error
  bool from_now = false;                   ///< a run without a place (not StreamPlace::begun) begins where the log ends
};

}  // namespace forebay
