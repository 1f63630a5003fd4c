#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/loader.h"
#include "pipeline/batch_job.h"

namespace forebay {

/// Samples that were skipped or replaced on this rank: one entry per sample and operator, with a count. Bounded.
class ErrorLog {
 public:
  static constexpr size_t kMaxEntries = 10'000;

  /// `limit`: so many errors are borne; nothing for any number.
  explicit ErrorLog(std::optional<int64_t> limit) : limit_(limit) {}

  /// The error that is one too many, if this is it.
  Status add(const RowError& error);
  int64_t total() const { return total_; }
  const std::vector<ErrorEntry>& entries() const { return entries_; }

 private:
  const std::optional<int64_t> limit_;
  std::vector<ErrorEntry> entries_;
  std::map<std::pair<int64_t, std::string>, size_t> index_;
  int64_t total_ = 0;
};

/// max_errors= as a count: a share (below 1) of `size` samples. InvalidArgument for negative numbers.
Result<std::optional<int64_t>> error_limit(std::optional<double> max_errors, int64_t size);

}  // namespace forebay
