#include "pipeline/segment_ends.h"

#include <algorithm>

namespace forebay {

EndsOfSegments ends_of_segments(const StepPlan& step, int64_t length, int64_t entries) {
  EndsOfSegments result;
  const auto add_end = [&result](int64_t end) {
    result.longest.back() = std::max(result.longest.back(), static_cast<int32_t>(end) - result.ends.back());
    result.ends.push_back(static_cast<int32_t>(end));
  };
  for (size_t block = 0; block < step.blocks.size(); ++block) {
    const size_t end = block + 1 < step.blocks.size() ? step.blocks[block + 1].first : step.pieces.size();
    result.first.push_back(result.ends.size());
    result.longest.push_back(0);
    result.ends.push_back(0);
    for (size_t i = step.blocks[block].first; i < end; ++i) add_end(step.pieces[i].at + step.pieces[i].count);
    if (result.ends.back() < length) add_end(length);
    if (entries > 0) result.ends.resize(result.first.back() + static_cast<size_t>(entries), result.ends.back());
  }
  result.first.push_back(result.ends.size());
  return result;
}

}  // namespace forebay
