#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay {

/// How many draws each child has in each window of a node that mixes its children. A window is a
/// run of at most kSize positions; every position is in one. Positions and draws are counted over
/// all epochs (plan/numbering.h). A pure function; may be used by several threads at once.
///
/// A window may be cut: it is arranged as if it had its whole length, and then ends earlier. So a
/// cut that is made later changes no position before it.
class WindowCounts {
 public:
  static constexpr int64_t kSize = 1024;
  static constexpr int64_t kBefore = -1;
  struct Window {
    int64_t begin = 0, end = 0;
    int64_t uncut_end = 0;  ///< equal to `end` unless the window is cut
  };
  /// The draws first, first + 1, … of a child.
  struct Part {
    size_t child = 0;
    int64_t first = 0;
    int64_t count = 0;
  };

  virtual ~WindowCounts() = default;
  virtual Window window_holding(int64_t position) const = 0;
  /// The children that have draws in the uncut window, ascending. The counts add up to its length.
  virtual std::vector<Part> parts(const Window& window) const = 0;
  /// The draws of the child before the window.
  virtual int64_t draws_before(size_t child, const Window& window) const = 0;
  /// A position of the window in which the child makes this draw; Numbering::kNever if there is
  /// none, and kBefore if the draw was made before the first window.
  virtual int64_t position_near(size_t child, int64_t draw) const = 0;
};

}  // namespace forebay
