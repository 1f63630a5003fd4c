#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// A change that the engine made, while the loader ran, to a number that the user left open.
struct TuningStats {
  double seconds = 0;  ///< time of the change, since the first batch was requested
  std::string what;    ///< name of the option: "threads", "requests"
  int64_t from = 0, to = 0;
  std::string reason;
};

}  // namespace forebay
