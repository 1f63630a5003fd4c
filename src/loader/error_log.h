#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/loader.h"
#include "pipeline/batch_job.h"
#include "pipeline/row_work.h"

namespace forebay {

/// Numbers from 0 on: a bit for each that is near one that was added.
class SampleSet {
 public:
  /// Whether it is new.
  bool add(int64_t id);
  int64_t size() const { return size_; }
  void clear();

 private:
  static constexpr int64_t kBlock = 4096;
  std::map<int64_t, std::bitset<kBlock>> blocks_;
  int64_t size_ = 0;
};

/// Samples that were skipped or replaced on this rank: one entry per sample and operator, with a count. Bounded.
class ErrorLog {
 public:
  static constexpr size_t kMaxEntries = 10'000;
  /// In the place of an epoch: the pass of a filter.
  static constexpr int64_t kFilterPass = -1;

  /// `limit`: so many different samples of an epoch may be bad; nothing for any number.
  explicit ErrorLog(std::optional<int64_t> limit) : limit_(limit) {}

  /// The error, where its sample is one too many in this epoch, or comes after that one.
  Status add(int64_t epoch, const RowError& error);
  int64_t total() const { return total_; }
  const std::vector<ErrorEntry>& entries() const { return entries_; }

 private:
  const std::optional<int64_t> limit_;
  int64_t epoch_ = kFilterPass;
  SampleSet bad_;  // of this epoch; only where there is a limit
  std::vector<ErrorEntry> entries_;
  std::map<std::pair<int64_t, std::string>, size_t> index_;
  int64_t total_ = 0;
};

/// What the engine does for that policy of the user's.
BadSample bad_sample(OnError policy);

/// max_errors= as a count, in a data set of `size` samples; nothing where so many can never be exceeded. InvalidArgument for
/// negative counts and for shares beyond 0 and 1.
Result<std::optional<int64_t>> error_limit(const std::optional<ErrorLimit>& max_errors, int64_t size);

}  // namespace forebay
