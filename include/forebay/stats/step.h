#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// Work of one operator since the loader was opened.
struct StepStats {
  std::string name;
  int64_t samples = 0;
  uint64_t bytes_in = 0, bytes_out = 0;
  /// CPU time on compute threads. The sum over all operators is exact; its division among the
  /// operators of a row is sampled (one row in eight).
  double busy_seconds = 0;
  /// Half-width of the 95 % confidence interval of `busy_seconds` in this run. The CPU time of the
  /// same work may differ more than this between runs.
  double busy_uncertainty_seconds = 0;
  double waiting_seconds = 0;  ///< waiting for storage or user code
};

}  // namespace forebay
