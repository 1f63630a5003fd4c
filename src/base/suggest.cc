#include "base/suggest.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace forebay {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table; swaps need the row before last.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string suggest(std::string_view typed, std::span<const std::string> candidates) {
  std::string best;
  // Nobody mistypes 64 letters, and the cost grows with the square.
  if (typed.size() > 64) return best;
  // The bound is exclusive, hence + 1. Even in the shortest word one letter may be wrong.
  int best_distance = std::max<int>(1, static_cast<int>(typed.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(typed, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty() || typed.empty()) return best;
  const auto begins = std::ranges::find_if(candidates, [&](const std::string& c) { return c.starts_with(typed); });
  return begins == candidates.end() ? best : *begins;
}

std::string suggestion_text(std::string_view typed, std::span<const std::string> candidates) {
  const std::string near = suggest(typed, candidates);
  return near.empty() ? near : fmt::format(" (did you mean '{}'?)", near);
}

}  // namespace forebay
