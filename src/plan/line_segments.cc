#include "plan/line_segments.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/part_search.h"

namespace forebay {

namespace {

size_t last_from(const std::vector<int64_t>& begins, int64_t value) {
  return part_holding(std::span<const int64_t>(begins), value, [](int64_t begin) { return begin; });
}

}  // namespace

LineSegments::LineSegments(const Order& line) {
  std::vector<Segment> along;
  std::vector<int64_t> chunk_of;
  for (int64_t place = 0; place < line.size(); place = along.back().end) {
    const std::vector<int64_t> chunks = line.chunks_together(0, place);
    in_chunks_ = !chunks.empty();
    chunk_of.push_back(in_chunks_ ? chunks.front() : 0);
    along.push_back({place, place + line.read_together(0, place).count, 0});
    begins_.push_back(place);
  }
  chunks_ = chunk_of;
  std::ranges::sort(chunks_);
  chunks_.erase(std::unique(chunks_.begin(), chunks_.end()), chunks_.end());
  for (size_t i = 0; i < along.size(); ++i)
    along[i].chunk = static_cast<size_t>(std::ranges::lower_bound(chunks_, chunk_of[i]) - chunks_.begin());
  std::vector<size_t> order(along.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return along[i].chunk; });
  place_of_.resize(along.size());
  for (const size_t i : order) {
    place_of_[i] = by_chunk_.size();
    by_chunk_.push_back(along[i]);
  }
}

LineSegments::Draws::Draws(const LineSegments& segments, const SystematicDraws& draws, int64_t epoch)
    : segments_(segments), chunk_rows_(segments.chunks_.size()) {
  int64_t number = 0;
  for (const Segment& segment : segments.by_chunk_) {
    const int64_t first = draws.draws_before(epoch, segment.begin);
    const int64_t count = draws.draws_before(epoch, segment.end) - first;
    numbers_.push_back(number);
    draws_.push_back(first);
    chunk_rows_[segment.chunk] += count;
    number += count;
  }
}

// Segments without draws begin where the next one does, and the search returns the last of them.
int64_t LineSegments::Draws::draw_of(int64_t number) const {
  const size_t at = last_from(numbers_, number);
  return draws_[at] + (number - numbers_[at]);
}

int64_t LineSegments::Draws::number_of(int64_t draw, int64_t place) const {
  const size_t at = segments_.place_of_[last_from(segments_.begins_, place)];
  return numbers_[at] + (draw - draws_[at]);
}

}  // namespace forebay
