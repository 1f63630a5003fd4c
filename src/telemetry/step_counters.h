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
  /// CPU time in the rows that a StepMeter looked at: its share of what all rows took. The sums of its squares, and of its products with
  /// the whole row's time, say how uncertain that share is.
  std::atomic<int64_t> looked_at_ns{0};
  std::atomic<double> looked_at_squares{0}, looked_at_products{0};

  void add(int64_t sample_count, uint64_t in, uint64_t out, int64_t cpu_ns) {
    samples.fetch_add(sample_count, std::memory_order_relaxed);
    bytes_in.fetch_add(in, std::memory_order_relaxed);
    bytes_out.fetch_add(out, std::memory_order_relaxed);
    busy_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
  /// Its part in a row that was looked at, and what the whole row took.
  void look_at(int64_t part_ns, int64_t row_ns) {
    const auto part = static_cast<double>(part_ns), row = static_cast<double>(row_ns);
    looked_at_ns.fetch_add(part_ns, std::memory_order_relaxed);
    looked_at_squares.fetch_add(part * part, std::memory_order_relaxed);
    looked_at_products.fetch_add(part * row, std::memory_order_relaxed);
  }
};

/// What rows took on compute threads, all steps of a row together.
struct RowCounters {
  std::atomic<int64_t> cpu_ns{0};            ///< of all rows
  std::atomic<int64_t> looked_at{0};         ///< rows that a StepMeter looked at
  std::atomic<double> looked_at_squares{0};  ///< of their CPU times, in ns²
};

}  // namespace forebay
