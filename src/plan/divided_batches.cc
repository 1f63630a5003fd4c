#include "plan/divided_batches.h"

#include <algorithm>

#include "plan/equal_part.h"

namespace forebay {

std::vector<int64_t> divide_batches(int64_t begin, std::span<const int64_t> ends, int64_t parts) {
  std::vector<int64_t> rows, parts_of(ends.size(), 1);
  for (size_t i = 0; i < ends.size(); ++i) rows.push_back(ends[i] - (i == 0 ? begin : ends[i - 1]));
  // Gives each batch one more part in turn, as long as one can be cut further.
  auto left = parts - std::ssize(ends);
  for (bool divided = true; divided && left > 0;) {
    divided = false;
    for (size_t i = 0; i < rows.size() && left > 0; ++i) {
      if (parts_of[i] == rows[i]) continue;
      ++parts_of[i];
      --left;
      divided = true;
    }
  }
  std::vector<int64_t> cuts;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t part = 0; part < parts_of[i]; ++part) {
      const EqualPart run = equal_part(rows[i], parts_of[i], part);
      cuts.push_back(ends[i] - rows[i] + run.begin + run.length);
    }
  }
  return cuts;
}

}  // namespace forebay
