#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "forebay/stats/histogram.h"

namespace forebay {

/// Counts values in ranges with kBounds upper bounds 2^kFirst, 2^(kFirst + kStep), …, and one more
/// range for larger values. add() is wait-free and may be called from any thread.
template <int kFirst, int kStep, size_t kBounds>
class LogHistogram {
 public:
  void add(uint64_t value) {
    counts_[range_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

  /// `unit` converts the histogram's unit: 1e-9 for nanoseconds as seconds.
  Histogram snapshot(double unit = 1) const {
    Histogram histogram;
    for (size_t i = 0; i < kBounds; ++i)
      histogram.bounds.push_back(static_cast<double>(uint64_t{1} << (kFirst + kStep * static_cast<int>(i))) * unit);
    for (const auto& count : counts_) histogram.counts.push_back(count.load(std::memory_order_relaxed));
    histogram.sum = static_cast<double>(sum()) * unit;
    return histogram;
  }

  /// A bound belongs to the range that it ends.
  static size_t range_of(uint64_t value) {
    const int bits = value == 0 ? 0 : std::bit_width(value - 1);
    const int above = std::max(bits - kFirst, 0);
    return std::min<size_t>(static_cast<size_t>((above + kStep - 1) / kStep), kBounds);
  }

 private:
  static_assert(kFirst + kStep * (static_cast<int>(kBounds) - 1) < 64);
  std::array<std::atomic<uint64_t>, kBounds + 1> counts_{};
  std::atomic<uint64_t> sum_{0};
};

/// Bytes of a read: 256 B to 4 GiB, in powers of 4.
using SizeHistogram = LogHistogram<8, 2, 13>;
/// Nanoseconds from request to answer: 16 µs to 69 s, in powers of 2.
using LatencyHistogram = LogHistogram<14, 1, 23>;

}  // namespace forebay
