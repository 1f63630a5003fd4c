#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/clock.h"

namespace forebay {

/// Rows by their CPU time, each class from eight times that of the one before it on. A few rows take many times what others do (a large picture,
/// the first touch of new memory): counted with the others, one that was looked at would stand for eight such.
constexpr size_t kRowClasses = 8;
inline size_t row_class(int64_t cpu_ns) {
  const auto units = static_cast<uint64_t>(std::max<int64_t>(cpu_ns, 0)) >> 12;
  return std::min((static_cast<size_t>(std::bit_width(units)) + 2) / 3, kRowClasses - 1);
}

/// What one step of the pipeline has done so far. Written by compute threads, read by anyone.
struct StepCounters {
  std::atomic<int64_t> samples{0};
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0};
  std::atomic<int64_t> busy_ns{0}, waiting_ns{0};
  /// CPU time in the rows that a StepMeter looked at: its share of what all rows of the class took. The sums of its squares, and of its
  /// products with the whole row's time, say how uncertain that share is.
  struct LookedAt {
    std::atomic<int64_t> ns{0};
    std::atomic<double> squares{0}, products{0};
  };
  std::array<LookedAt, kRowClasses> looked_at;

  void add(int64_t sample_count, uint64_t in, uint64_t out, int64_t cpu_ns) {
    samples.fetch_add(sample_count, std::memory_order_relaxed);
    bytes_in.fetch_add(in, std::memory_order_relaxed);
    bytes_out.fetch_add(out, std::memory_order_relaxed);
    busy_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
  /// Its part in a row that was looked at, and what the whole row took.
  void look_at(int64_t part_ns, int64_t row_ns) {
    const auto part = static_cast<double>(part_ns), row = static_cast<double>(row_ns);
    LookedAt& of_class = looked_at[row_class(row_ns)];
    of_class.ns.fetch_add(part_ns, std::memory_order_relaxed);
    of_class.squares.fetch_add(part * part, std::memory_order_relaxed);
    of_class.products.fetch_add(part * row, std::memory_order_relaxed);
  }
};

/// What rows took on compute threads, all steps of a row together.
struct RowCounters {
  struct Class {
    std::atomic<int64_t> cpu_ns{0};                      ///< of all rows
    std::atomic<int64_t> looked_at{0}, looked_at_ns{0};  ///< rows that a StepMeter looked at, and their CPU time
    std::atomic<double> looked_at_squares{0};            ///< of that, in ns²
  };
  std::array<Class, kRowClasses> classes;

  void add(int64_t cpu_ns, bool looked_at) {
    Class& rows = classes[row_class(cpu_ns)];
    rows.cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
    if (!looked_at) return;
    const auto ns = static_cast<double>(cpu_ns);
    rows.looked_at.fetch_add(1, std::memory_order_relaxed);
    rows.looked_at_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
    rows.looked_at_squares.fetch_add(ns * ns, std::memory_order_relaxed);
  }
};

}  // namespace forebay
