#include "store/http/latency_window.h"

#include <algorithm>
#include <bit>

namespace forebay {

namespace {
constexpr size_t kUpdateEvery = 32;  // sorting costs microseconds
}

size_t LatencyWindow::class_of(uint64_t bytes) {
  // Two octaves a class: 1 KiB, 4 KiB, and so on.
  const auto octaves = static_cast<size_t>(std::bit_width(bytes >> 10));
  return std::min((octaves + 1) / 2, kClasses - 1);
}

void LatencyWindow::add(uint64_t bytes, Time took) {
  if (bytes > kLargest) return;
  const Lock lock(mutex_);
  Class& of_size = classes_[class_of(bytes)];
  of_size.ns[of_size.added % kSamples] = took.count();
  if (++of_size.added % kUpdateEvery == 0 && of_size.added >= kEnough) update(of_size);
}

void LatencyWindow::update(Class& of_size) const {
  std::array<int64_t, kSamples> sorted = of_size.ns;
  const size_t count = std::min(of_size.added, kSamples);
  const auto not_exceeded_by = [&](double share) {
    // The order of samples does not matter here, so the ring need not be unrolled.
    const auto rank = std::min(static_cast<size_t>(share * static_cast<double>(count)), count - 1);
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(rank),
                     sorted.begin() + static_cast<ptrdiff_t>(count));
    return sorted[rank];
  };
  of_size.median_ns = not_exceeded_by(0.5);
  of_size.quantile_ns = not_exceeded_by(quantile_);
}

std::optional<LatencyWindow::Latencies> LatencyWindow::recent(uint64_t bytes) const {
  if (bytes > kLargest) return std::nullopt;
  const Lock lock(mutex_);
  const Class& of_size = classes_[class_of(bytes)];
  if (of_size.added < kEnough) return std::nullopt;
  return Latencies{Time(of_size.median_ns), Time(of_size.quantile_ns)};
}

}  // namespace forebay
