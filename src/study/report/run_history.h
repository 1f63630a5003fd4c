#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "forebay/ledger.h"
#include "page/page.h"

namespace forebay {

/// What a run had counted at some moments, for curves: never more than kMost of them, however long the run is. When they are full every
/// second one goes and the next come half as often. For one thread.
class RunHistory {
 public:
  static constexpr size_t kMost = 240;

  /// Whether a look is due: taking a ledger costs, so that callers ask before. `now_seconds` is any clock that only grows.
  bool due(double now_seconds) const { return now_seconds >= next_; }
  void look(double now_seconds, const Ledger& ledger);
  size_t size() const { return points_.size(); }

  /// Empty where fewer than two looks were taken.
  std::vector<Block> curves() const;

 private:
  struct Point {
    double at = 0, samples = 0, bytes = 0, memory = 0;
    double storage = 0, compute = 0, user = 0, other = 0;
  };
  static Point point_of(const Ledger& ledger);
  void halve();
  Series rate(std::string name, double Point::* figure) const;

  std::vector<Point> points_;
  double interval_ = 0.05, next_ = 0;  // seconds
};

}  // namespace forebay
