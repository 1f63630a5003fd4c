#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Which part holds `value`, of parts that follow each other: the last whose `begin_of(part)` is at most `value`. The first one's
/// is. Takes as many steps as the number of parts has bits and guesses no branch, unlike std::upper_bound: where the values
/// come in random order, wrong guesses would be most of the time.
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
