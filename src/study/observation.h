#pragma once

#include <vector>

#include "forebay/ledger.h"
#include "runtime/host.h"

namespace forebay {

/// Measurements of a loader over some windows of time (observe()).
struct Observation {
  std::vector<double> rates;           ///< samples per second of each window
  double samples = 0, seconds = 0;     ///< totals of all windows
  Ledger before, after;                ///< before and after all windows
  CoreTime cores_before, cores_after;  ///< of all compute threads of the process
  std::vector<double> step_rates;      ///< rate of the consumer's step in each window; may be empty
};

}  // namespace forebay
