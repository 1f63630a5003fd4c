#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/source.h"
#include "materialize/finished_samples.h"

namespace forebay {

/// Divides the samples, or chunks, of a data set into those that can be reused from finished data
/// and fresh ones, which have to be made. The fresh ones are also numbered among themselves, since
/// a loader over them alone makes them. Immutable.
class ReusePlan {
 public:
  ReusePlan() = default;  ///< all have to be made
  /// `count` is the number of samples or chunks. `reused` returns the number in the finished data,
  /// if any.
  ReusePlan(int64_t count, const std::function<std::optional<int64_t>(int64_t)>& reused);

  std::optional<int64_t> reused(int64_t number) const;
  /// Returns the index of a sample in fresh(); for a reused one, the index of the next fresh one.
  int64_t fresh_index(int64_t number) const;
  /// Returns the samples that have to be made, in order. Empty unless some are reused.
  const std::vector<int64_t>& fresh() const { return fresh_; }
  bool any_reused() const { return !reused_.empty(); }
  /// Returns how many of these rows are reused. `chunks` are the first rows of chunks, and the end;
  /// empty for samples.
  int64_t reused_rows(int64_t first, int64_t end, const std::vector<int64_t>& chunks) const;

 private:
  std::vector<int64_t> reused_;  ///< number in the finished data; -1: none
  std::vector<int64_t> fresh_;
};

/// Compares the samples, or chunks, of a data set with the finished ones.
ReusePlan reuse_plan_of(const Source& source, bool in_chunks, const FinishedSamples& reused);

}  // namespace forebay
