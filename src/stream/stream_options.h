#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stream/record_queue.h"

namespace forebay {

/// The policy for records that arrive faster than training takes them.
enum class BufferPolicy : uint8_t {
  kBlock,       ///< nothing is read that there is no room for: they wait in the log
  kDropOldest,  ///< the oldest that no decision has taken are dropped
  kSample,      ///< a uniform sample, of a decision's size, of those since the last decision stays
  kSpill,       ///< they go to disk and come back in order
};

/// The replacement for records that have not come when training needs them.
enum class OnUnderrun : uint8_t {
  kWait,      ///< nothing: training waits
  kRepeat,    ///< the records of the latest step that had new ones
  kRehearse,  ///< samples from the replay buffer
};

/// The options of a stream. They do not change while it exists.
struct StreamOptions {
  uint64_t seed = 0;
  size_t decision_records = 1;  ///< records that are decided at a time
  bool shuffled = false;        ///< inside a decision
  BufferPolicy policy = BufferPolicy::kBlock;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  uint64_t bytes = uint64_t{64} << 20;     ///< of records in memory; one decision may need more
  std::shared_ptr<SpillSpace> spill = {};  ///< with kSpill
  bool skip_trimmed = false;               ///< records that the log has forgotten are no error
  bool from_now = false;                   ///< a run without a place (not StreamPlace::begun) begins where the log ends
};

}  // namespace forebay
