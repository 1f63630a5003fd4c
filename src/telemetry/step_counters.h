#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace forebay {

/// What one step of the pipeline has done so far. Written by compute threads, read by anyone.
struct StepCounters {
  std::atomic<int64_t> samples{0};
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0};
  std::atomic<int64_t> busy_ns{0}, waiting_ns{0};
  std::atomic<int64_t> looked_at_ns{
      0};  ///< CPU time in the rows that a StepMeter looked at: its share of what all rows took

  void add(int64_t sample_count, uint64_t in, uint64_t out, int64_t cpu_ns) {
    samples.fetch_add(sample_count, std::memory_order_relaxed);
    bytes_in.fetch_add(in, std::memory_order_relaxed);
    bytes_out.fetch_add(out, std::memory_order_relaxed);
    busy_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
};

}  // namespace forebay
