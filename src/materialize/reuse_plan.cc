#include "materialize/reuse_plan.h"

#include <algorithm>

#include "base/chunk_source.h"

namespace forebay {

namespace {

std::optional<Hash128> lasting_identity(const Source& source, int64_t id) {
  const std::optional<Identity> identity = source.identity(id);
  return identity && identity->lasting ? std::optional(identity->hash) : std::nullopt;
}

}  // namespace

ReusePlan::ReusePlan(int64_t count, const std::function<std::optional<int64_t>(int64_t)>& reused) {
  reused_.resize(static_cast<size_t>(count), -1);
  for (int64_t number = 0; number < count; ++number) {
    const std::optional<int64_t> there = reused(number);
    if (there)
      reused_[static_cast<size_t>(number)] = *there;
    else
      fresh_.push_back(number);
  }
  if (static_cast<int64_t>(fresh_.size()) == count) reused_.clear();
}

std::optional<int64_t> ReusePlan::reused(int64_t number) const {
  if (reused_.empty() || reused_[static_cast<size_t>(number)] < 0) return std::nullopt;
  return reused_[static_cast<size_t>(number)];
}

int64_t ReusePlan::fresh_index(int64_t number) const {
  if (reused_.empty()) return number;
  return std::lower_bound(fresh_.begin(), fresh_.end(), number) - fresh_.begin();
}

int64_t ReusePlan::reused_rows(int64_t first, int64_t end, const std::vector<int64_t>& chunks) const {
  int64_t rows = 0;
  for (int64_t id = first; chunks.empty() && id < end; ++id) rows += reused(id) ? 1 : 0;
  for (size_t chunk = 0; chunk + 1 < chunks.size(); ++chunk)
    if (chunks[chunk] >= first && chunks[chunk] < end && reused(static_cast<int64_t>(chunk)))
      rows += chunks[chunk + 1] - chunks[chunk];
  return rows;
}

ReusePlan reuse_plan_of(const Source& source, bool in_chunks, const FinishedSamples& reused) {
  const auto* chunks = in_chunks ? source.as_chunks() : nullptr;
  return ReusePlan(chunks != nullptr ? chunks->chunks() : source.size(), [&](int64_t number) {
    return reused.find(chunks != nullptr ? chunks->chunk_identity(number) : lasting_identity(source, number));
  });
}

}  // namespace forebay
