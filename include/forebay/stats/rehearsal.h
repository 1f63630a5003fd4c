#pragma once

#include <cstdint>

namespace forebay {

/// Rows that a `.rehearse(where="here")` has retained for replayed samples: the outputs of the
/// steps before it.
struct RehearsalStats {
  uint64_t hits = 0;    ///< replayed samples whose row was retained
  uint64_t misses = 0;  ///< replayed samples whose row was computed again
  uint64_t entries = 0, bytes = 0, budget_bytes = 0;
};

}  // namespace forebay
