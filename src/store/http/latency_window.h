#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace forebay {

/// Times that recent requests took, by the size of what they fetched, because a request for 8 MB is
/// not slow if it takes longer than one for 8 KB. Methods may be called from any thread.
class LatencyWindow {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr size_t kSamples = 256, kEnough = 64;
  /// Above this the link decides more than the server.
  static constexpr uint64_t kLargest = 64 << 20;

  explicit LatencyWindow(double quantile) : quantile_(quantile) {}

  void add(uint64_t bytes, Time took);
  struct Latencies {
    Time median, quantile;  ///< not exceeded by half, and by the given share, of recent requests
  };
  /// Returns the latencies of requests of that size. Nothing before there are enough of them.
  std::optional<Latencies> recent(uint64_t bytes) const;

 private:
  struct Class {
    std::array<int64_t, kSamples> ns;
    size_t added = 0;
    int64_t median_ns = 0, quantile_ns = 0;
  };
  static constexpr size_t kClasses = 9;  ///< up to 1 KiB, 4 KiB, ... 64 MiB
  static size_t class_of(uint64_t bytes);
  void update(Class& of_size) const;

  const double quantile_;
  mutable Mutex mutex_;
  std::array<Class, kClasses> classes_ FOREBAY_GUARDED_BY(mutex_){};
};

}  // namespace forebay
