#pragma once

#include <cstdint>
#include <string>

#include "forebay/stats/histogram.h"

namespace forebay {

/// Activity of one store since it was opened. Loaders that read from the same store share it, and
/// each reports all of its activity. visit() describes each number.
struct StoreStats {
  /// Scheme and place, such as "s3://bucket/"; "files" for local paths, "http" for a list of URLs.
  std::string name;
  uint64_t requests = 0, listings = 0, heads = 0, opens = 0;
  uint64_t immediate = 0;  ///< reads that were answered at once (page cache, memory)
  uint64_t waited = 0;     ///< all other reads
  uint64_t bytes = 0, errors = 0, in_flight = 0;
  uint64_t attempts = 0, retries = 0, throttled = 0, timeouts = 0, hedges = 0, hedges_won = 0;
  double seconds = 0;
  Histogram read_bytes = {};       ///< sizes of successful reads
  Histogram latency_seconds = {};  ///< latencies of requests that had to wait
};

}  // namespace forebay
