#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/permutation.h"
#include "plan/window_counts.h"

namespace forebay {

/// A window with its draws arranged at random: each arrangement of the children is equally likely,
/// and the draws of a child are in its own order. Immutable.
class MixedWindow {
 public:
  using Window = WindowCounts::Window;

  /// `parts` as WindowCounts::parts() returns them.
  MixedWindow(const Window& window, const std::vector<WindowCounts::Part>& parts, const PermutationKey& key);

  int64_t begin() const { return window_.begin; }
  int64_t end() const { return window_.end; }

  /// Calls take(child, first, places) for each child with draws at the positions [begin, end),
  /// which are in the window. Its draws first, first + 1, … are at these places, which count from
  /// begin() of the window.
  template <typename Take>
  void for_each_child(int64_t begin, int64_t end, Take take) const;
  /// The draws of the child before this position of the window. The child must have draws in it.
  int64_t draws_before(size_t child, int64_t position) const;
  /// The position of a draw of the child, which is in the window.
  int64_t position_of(size_t child, int64_t draw) const;

 private:
  struct Part {
    size_t child = 0;
    int64_t first = 0;  // number of its first draw in the window
    size_t begin = 0;   // index in places_ of its first draw
  };
  const Part& part_of(size_t child) const;

  Window window_;
  std::vector<Part> parts_;  // by child; then one more, at the end of places_
  // The places of each part's draws in the window, ascending, one part after the other.
  std::array<uint16_t, WindowCounts::kSize> places_;
  // By place: the part that has it, and its index in places_.
  std::array<uint16_t, WindowCounts::kSize> part_at_, index_at_;
};

template <typename Take>
void MixedWindow::for_each_child(int64_t begin, int64_t end, Take take) const {
  const auto from = static_cast<size_t>(begin - window_.begin), to = static_cast<size_t>(end - window_.begin);
  for (size_t place = from; place < to; ++place) {
    const size_t index = index_at_[place], part = part_at_[place];
    const Part& here = parts_[part];
    // All draws of a child are taken at its first one.
    if (index > here.begin && places_[index - 1] >= from) continue;
    size_t last = index + 1;
    while (last < parts_[part + 1].begin && places_[last] < to) ++last;
    take(here.child, here.first + static_cast<int64_t>(index - here.begin),
         std::span<const uint16_t>(places_).subspan(index, last - index));
  }
}

}  // namespace forebay
