#include "study/report/run_history.h"

#include <algorithm>
#include <utility>

#include "forebay/ledger.h"

namespace forebay {

RunHistory::Point RunHistory::point_of(const Ledger& ledger) {
  Point point{.at = ledger.elapsed_seconds, .samples = static_cast<double>(ledger.samples)};
  for (const StoreStats& store : ledger.stores) point.bytes += static_cast<double>(store.bytes);
  point.memory = static_cast<double>(ledger.memory_used);
  point.storage = ledger.waits.storage + ledger.waits.slot;
  point.compute = ledger.waits.thread + ledger.waits.compute + ledger.waits.assembly;
  point.user = ledger.waits.user + ledger.waits.interpreter;
  point.other = ledger.waits.memory + ledger.waits.plan;
  return point;
}

void RunHistory::record(double now_seconds, const Ledger& ledger) {
  next_ = now_seconds + interval_;
  const Point point = point_of(ledger);
  // Without time since the last snapshot there is nothing to divide by.
  if (!points_.empty() && point.at <= points_.back().at) return;
  // The final snapshot comes at any time. A rate over a very short time would be a meaningless
  // spike.
  if (points_.size() > 1 && point.at - points_.back().at < interval_ / 2) points_.pop_back();
  if (points_.size() == kMost) make_room();
  points_.push_back(point);
}

// Counters are sums, so rates over the longer spans stay exact. Of memory the larger value stays,
// so that no peak is lost.
void RunHistory::make_room() {
  if (span_ == Span::kLastMinutes) {
    points_.erase(points_.begin());
    return;
  }
  std::vector<Point> kept = {points_.front()};
  for (size_t i = 2; i < points_.size(); i += 2) {
    kept.push_back(points_[i]);
    kept.back().memory = std::max(kept.back().memory, points_[i - 1].memory);
  }
  if (points_.size() % 2 == 0) kept.push_back(points_.back());
  points_ = std::move(kept);
  interval_ *= 2;
}

Series RunHistory::rate(std::string name, double Point::* figure) const {
  Series series{std::move(name), {}};
  for (size_t i = 1; i < points_.size(); ++i) {
    const double more = points_[i].*figure - points_[i - 1].*figure;
    series.values.push_back(std::max(more, 0.0) / (points_[i].at - points_[i - 1].at));
  }
  return series;
}

std::vector<Block> RunHistory::curves() const {
  if (points_.size() < 2) return {};
  std::vector<double> seconds;
  Series memory{"in use", {}};
  for (size_t i = 1; i < points_.size(); ++i) {
    seconds.push_back(points_[i].at);
    memory.values.push_back(points_[i].memory);
  }
  return {Curves{"Share of the time that the consumer waited, by cause",
                 PlotUnit::kShare,
                 seconds,
                 {rate("storage", &Point::storage), rate("compute", &Point::compute),
                  rate("own function", &Point::user), rate("memory, planning", &Point::other)}},
          Curves{"Samples a second", PlotUnit::kPerSecond, seconds, {rate("samples", &Point::samples)}},
          Curves{"Read from storage", PlotUnit::kBytesPerSecond, seconds, {rate("bytes", &Point::bytes)}},
          Curves{"Memory", PlotUnit::kBytes, seconds, {std::move(memory)}}};
}

}  // namespace forebay
