#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stream/record_queue.h"

namespace forebay {

/// The policy for records that arrive faster than training takes them.
enum class BufferPolicy : uint8_t {
  kBlock,       ///< reads only what there is memory for; other records wait in the log
  kDropOldest,  ///< drops the oldest records that are in no decision
  /// Retains a uniform sample of the records since the last decision, as many as a decision has.
  kSample,
  kSpill,  ///< writes records to disk, and reads them back in order
};

/// The replacement for records that have not arrived when training needs them.
enum class OnUnderrun : uint8_t {
  kWait,      ///< nothing: training waits
  kRepeat,    ///< the records of the latest step that had new ones
  kRehearse,  ///< samples from the replay buffer
};

/// The options of a stream. They do not change during its life.
struct StreamOptions {
  uint64_t seed = 0;
  size_t decision_records = 1;  ///< records that are decided at a time
  bool shuffled = false;        ///< inside a decision
  BufferPolicy policy = BufferPolicy::kBlock;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  uint64_t bytes = uint64_t{64} << 20;     ///< for records in memory; one decision may need more
  std::shared_ptr<SpillSpace> spill = {};  ///< with kSpill
  bool skip_trimmed = false;               ///< records that the log has trimmed are no error
  /// A run without a place (not StreamPlace::began_at_log_end) begins where the log ends.
  bool from_now = false;
};

}  // namespace forebay
