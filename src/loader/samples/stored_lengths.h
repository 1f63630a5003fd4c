#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"

namespace forebay {

/// The lengths of the samples of a run, as an entry of the pipeline's `.cache()`: a later run, or
/// another rank of the host, need not measure them again. Nothing is kept without such a step, with
/// samples that a later run could not recognize, and behind functions without a version.
class StoredLengths {
 public:
  /// `pass` measures the lengths, without the caches of the pipeline; `field` tells them.
  /// InvalidArgument if the cache cannot be opened.
  static Result<StoredLengths> open(const CompileInput& pass, const std::string& field, const SizingInput& sizes);

  /// The lengths that were kept for these samples and steps.
  std::optional<std::vector<float>> find() const;
  /// `seconds`: the time that it took to measure them.
  void keep(const std::vector<float>& lengths, double seconds) const;

 private:
  std::shared_ptr<TieredCache> cache_;  // null if nothing is kept
  Hash128 key_;
  size_t samples_ = 0;
};

}  // namespace forebay
