#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// Work on one of the data sets of a pipeline over many, since the loader was opened.
struct PartStats {
  std::string name;            ///< "web/en" for a part of a part
  int64_t samples = 0;         ///< delivered, without repeats
  int64_t passes = 0;          ///< passes over its samples that are complete, since the beginning of training
  uint64_t bytes = 0;          ///< of its rows in batches
  double waiting_seconds = 0;  ///< waiting for storage or user code, summed over requests and calls
};

}  // namespace forebay
