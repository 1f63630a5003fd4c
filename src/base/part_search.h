#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Index of the part that holds `value`, among parts in ascending order: the last one whose
/// `begin_of(part)` is at most `value`. The first part must begin at `value` or before. Takes as
/// many steps as the number of parts has bits. It has no unpredictable branch, unlike
/// std::upper_bound: for values in random order mispredictions would take most of the time.
template <typename Part, typename BeginOf>
size_t part_holding(std::span<const Part> parts, int64_t value, BeginOf begin_of) {
  size_t at = 0;
  for (size_t left = parts.size(); left > 1;) {
    const size_t half = left / 2;
    at += begin_of(parts[at + half]) <= value ? half : 0;
    left -= half;
  }
  return at;
}

}  // namespace forebay
