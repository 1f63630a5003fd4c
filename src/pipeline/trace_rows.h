#pragma once

#include <cstdint>

#include "telemetry/trace.h"

namespace forebay {

// Groups of rows in the trace of a run, from top to bottom.
constexpr uint32_t kTraceConsumer = 1, kTraceBatches = 2, kTraceThreads = 3, kTraceUser = 4, kTraceReads = 5;

/// The trace row of the calling compute thread.
inline Trace::Row trace_row_of_this_thread(Trace& trace) {
  return trace.row_of_this_thread(kTraceThreads, "compute thread");
}

}  // namespace forebay
