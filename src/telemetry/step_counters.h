#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/clock.h"

namespace forebay {

/// Classes of rows by CPU time. Each class begins at eight times the beginning of the one before. A
/// few rows take many times as long as others (a large picture, the first touch of new memory).
/// Without classes one such row, if measured, would be extrapolated to eight.
constexpr size_t kRowClasses = 8;
inline size_t row_class(int64_t cpu_ns) {
  const auto units = static_cast<uint64_t>(std::max<int64_t>(cpu_ns, 0)) >> 12;
  return std::min((static_cast<size_t>(std::bit_width(units)) + 2) / 3, kRowClasses - 1);
}

/// Figures of one step of the pipeline so far. Compute threads write them, and any thread may read
/// them.
struct StepCounters {
  std::atomic<int64_t> samples{0};
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0};
  std::atomic<int64_t> busy_ns{0}, waiting_ns{0};
  /// CPU time of the step in the measured rows of a class, from which its share of all rows of the
  /// class is estimated. The sums of its squares, and of its products with the time of the whole
  /// row, give the uncertainty of that share.
  struct MeasuredTime {
    std::atomic<int64_t> ns{0};
    std::atomic<double> squares{0}, products{0};
  };
  std::array<MeasuredTime, kRowClasses> measured;

  void add(int64_t sample_count, uint64_t in, uint64_t out, int64_t cpu_ns) {
    samples.fetch_add(sample_count, std::memory_order_relaxed);
    bytes_in.fetch_add(in, std::memory_order_relaxed);
    bytes_out.fetch_add(out, std::memory_order_relaxed);
    busy_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
  /// Adds a measured row: the step's part of it, and the CPU time of the whole row.
  void add_measured(int64_t part_ns, int64_t row_ns) {
    const auto part = static_cast<double>(part_ns), row = static_cast<double>(row_ns);
    MeasuredTime& of_class = measured[row_class(row_ns)];
    of_class.ns.fetch_add(part_ns, std::memory_order_relaxed);
    of_class.squares.fetch_add(part * part, std::memory_order_relaxed);
    of_class.products.fetch_add(part * row, std::memory_order_relaxed);
  }
};

/// CPU time of rows on compute threads, over all steps.
struct RowCounters {
  struct Class {
    std::atomic<int64_t> cpu_ns{0};  ///< of all rows
    /// Number of rows that a StepMeter measured, and their CPU time.
    std::atomic<int64_t> measured{0}, measured_ns{0};
    std::atomic<double> measured_squares{0};  ///< sum of the squares of these CPU times, in ns²
  };
  std::array<Class, kRowClasses> classes;

  void add(int64_t cpu_ns, bool measured) {
    Class& rows = classes[row_class(cpu_ns)];
    rows.cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
    if (!measured) return;
    const auto ns = static_cast<double>(cpu_ns);
    rows.measured.fetch_add(1, std::memory_order_relaxed);
    rows.measured_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
    rows.measured_squares.fetch_add(ns * ns, std::memory_order_relaxed);
  }
};

}  // namespace forebay
