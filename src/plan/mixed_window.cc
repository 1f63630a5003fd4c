#include "plan/mixed_window.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "plan/philox.h"

namespace forebay {
namespace {

// Fisher-Yates. Every number of 32 bits chooses among at most 1,024, so that it is uniform to
// 2^-22. The numbers are drawn first, because they do not wait for each other.
void shuffle_window(std::span<uint16_t> values, const PermutationKey& key) {
  std::array<uint32_t, WindowCounts::kSize> draws;
  for (size_t i = 0; i < values.size(); i += 4) {
    const PhiloxCounter block = philox4x32({static_cast<uint32_t>(i), 0, low_word(key.b), high_word(key.b)},
                                           {low_word(key.a), high_word(key.a)});
    std::copy(block.begin(), block.end(), draws.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (size_t left = values.size(); left > 1; --left) {
    const auto chosen = static_cast<size_t>(draws[left - 1] * uint64_t{left} >> 32);
    std::swap(values[left - 1], values[chosen]);
  }
}

}  // namespace

MixedWindow::MixedWindow(const Window& window, const std::vector<WindowCounts::Part>& parts, const PermutationKey& key)
    : window_(window) {
  const auto size = static_cast<size_t>(window.uncut_end - window.begin);
  assert(size <= part_at_.size());
  parts_.reserve(parts.size() + 1);
  size_t begin = 0;
  for (const WindowCounts::Part& part : parts) {
    const auto count = static_cast<size_t>(part.count);
    std::fill_n(part_at_.begin() + static_cast<std::ptrdiff_t>(begin), count, static_cast<uint16_t>(parts_.size()));
    parts_.push_back({part.child, part.first, begin});
    begin += count;
  }
  assert(begin == size);
  shuffle_window(std::span(part_at_).first(size), key);

  std::array<uint16_t, WindowCounts::kSize> next;  // index of the next draw of each part
  for (size_t part = 0; part < parts_.size(); ++part) next[part] = static_cast<uint16_t>(parts_[part].begin);
  for (size_t place = 0; place < size; ++place) {
    const uint16_t index = next[part_at_[place]]++;
    index_at_[place] = index;
    places_[index] = static_cast<uint16_t>(place);
  }
  parts_.push_back({0, 0, size});
}

const MixedWindow::Part& MixedWindow::part_of(size_t child) const {
  const auto part = std::partition_point(parts_.begin(), parts_.end() - 1,
                                         [child](const Part& other) { return other.child < child; });
  assert(part != parts_.end() - 1 && part->child == child);
  return *part;
}

int64_t MixedWindow::draws_before(size_t child, int64_t position) const {
  const Part* const part = &part_of(child);
  const auto first = places_.begin() + static_cast<std::ptrdiff_t>(part->begin);
  const auto last = places_.begin() + static_cast<std::ptrdiff_t>(part[1].begin);
  return part->first + (std::lower_bound(first, last, position - window_.begin) - first);
}

int64_t MixedWindow::position_of(size_t child, int64_t draw) const {
  const Part& part = part_of(child);
  return window_.begin + places_[part.begin + static_cast<size_t>(draw - part.first)];
}

}  // namespace forebay
