#pragma once

#include <string>
#include <utility>
#include <vector>

namespace forebay {

struct Ledger;

/// The parts of the text of report().
struct RunFinding {
  std::string sentence;  ///< share of the time spent waiting for batches; no full stop
  /// Reasons to wait, with seconds; the longest first.
  std::vector<std::pair<std::string, double>> waits;
  std::string change;           ///< the one thing to change; empty before the first batch
  std::string gain;             ///< upper bound of its gain, or empty
  bool worth_a_change = false;  ///< the wait is long enough to act on
};

RunFinding finding_of(const Ledger& ledger);

}  // namespace forebay
