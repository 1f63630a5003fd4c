#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "page/page.h"

namespace forebay {

struct Ledger;

/// Snapshots of a run's counters, for curves. It holds at most kMost of them, however long the run
/// is. Not thread-safe.
class RunHistory {
 public:
  static constexpr size_t kMost = 240;

  enum class Span : uint8_t {
    kWholeRun,     ///< when it is full, every second snapshot is dropped, and the interval doubles
    kLastMinutes,  ///< a snapshot each second; when it is full, the oldest is dropped
  };
  RunHistory() : RunHistory(Span::kWholeRun) {}
  explicit RunHistory(Span span) : span_(span), interval_(span == Span::kWholeRun ? 0.05 : 1) {}

  /// Whether a snapshot is due. Callers ask first, since taking a ledger costs time. `now_seconds`
  /// is from any monotonic clock.
  bool due(double now_seconds) const { return now_seconds >= next_; }
  /// Adds a snapshot. It replaces the last one if that is too recent for a rate between the two.
  void record(double now_seconds, const Ledger& ledger);
  size_t size() const { return points_.size(); }

  /// Empty for fewer than two snapshots.
  std::vector<Block> curves() const;

 private:
  struct Point {
    double at = 0, samples = 0, bytes = 0, memory = 0;
    double storage = 0, compute = 0, user = 0, other = 0;
  };
  static Point point_of(const Ledger& ledger);
  void make_room();
  Series rate(std::string name, double Point::* figure) const;

  std::vector<Point> points_;
  Span span_;
  double interval_, next_ = 0;  // seconds
};

}  // namespace forebay
