#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace forebay {

/// What one step of the pipeline has done so far. Written by compute threads, read by anyone.
struct StepCounters {
  std::atomic<int64_t> samples{0};
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0};
  std::atomic<int64_t> busy_ns{0}, waiting_ns{0};

  void add(int64_t sample_count, uint64_t in, uint64_t out, int64_t cpu_ns) {
    samples.fetch_add(sample_count, std::memory_order_relaxed);
    bytes_in.fetch_add(in, std::memory_order_relaxed);
    bytes_out.fetch_add(out, std::memory_order_relaxed);
    busy_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
};

/// CPU time of the calling thread.
inline int64_t thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace forebay
