#pragma once

#include <string>
#include <utility>
#include <vector>

#include "forebay/ledger.h"

namespace forebay {

/// What report() says, in parts.
struct RunFinding {
  std::string sentence;  ///< how much of the time was waited for batches; without a full stop
  std::vector<std::pair<std::string, double>> waits;  ///< what for, and seconds; the longest first
  std::string change;                                 ///< the one thing to change; empty before the first batch
  std::string gain;                                   ///< what that could gain at most, or empty
  bool worth_a_change = false;                        ///< the wait is long enough to do something about it
};

RunFinding finding_of(const Ledger& ledger);

}  // namespace forebay
