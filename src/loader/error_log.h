#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "forebay/loader.h"
#include "pipeline/batch_job.h"
#include "pipeline/row_work.h"

namespace forebay {

/// Set of non-negative numbers, stored as bitmaps of blocks of consecutive numbers.
class SampleSet {
 public:
  /// Returns whether that sample of a branch is new.
  bool add(uint16_t branch, int64_t id);
  int64_t size() const { return size_; }
  void clear();

 private:
  static constexpr int64_t kBlock = 4096;
  std::map<std::pair<uint16_t, int64_t>, std::bitset<kBlock>> blocks_;  // by branch, and number of the block
  int64_t size_ = 0;
};

/// Log of the samples that were skipped or replaced on this rank: one entry per sample and
/// operator, with a count. The number of entries is bounded. Not thread-safe; the loader guards it
/// with its mutex.
class ErrorLog {
 public:
  static constexpr size_t kMaxEntries = 10'000;
  /// Passed as the epoch for samples that fail during the pass of a filter.
  static constexpr int64_t kFilterPass = -1;

  /// `limit` is the number of different bad samples that an epoch may have. If empty, any number.
  explicit ErrorLog(std::optional<int64_t> limit) : limit_(limit) {}

  /// Adds an error. Returns it, with the limit in its message, if its sample exceeds the limit of
  /// the epoch, or comes after one that did.
  Status add(int64_t epoch, const RowError& error);
  int64_t total() const { return total_; }
  const std::vector<ErrorEntry>& entries() const { return entries_; }

 private:
  const std::optional<int64_t> limit_;
  int64_t epoch_ = kFilterPass;
  SampleSet bad_;  // bad samples of this epoch; unused without a limit
  std::vector<ErrorEntry> entries_;
  std::map<std::tuple<uint16_t, int64_t, std::string>, size_t> index_;  // by branch, sample and operator
  int64_t total_ = 0;
};

/// Returns the engine's setting for a policy of the user.
BadSample bad_sample(OnError policy);

/// Converts max_errors= into a count, for a data set of `size` samples. Returns nothing if the
/// limit can never be exceeded. InvalidArgument for a negative count, and for a share outside [0,
/// 1].
Result<std::optional<int64_t>> error_limit(const std::optional<ErrorLimit>& max_errors, int64_t size);

}  // namespace forebay
