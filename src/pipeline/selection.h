#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// All samples, or the first `size` of them.
std::shared_ptr<const Selection> first_samples(int64_t size);

/// Those of `from` whose bit is set; bits[i] says whether the i-th of them stays. One bit a sample, and 1/8 more to find them.
class MarkedSamples final : public Selection {
 public:
  MarkedSamples(std::shared_ptr<const Selection> from, std::vector<uint64_t> bits);
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override;
  Hash128 version() const;
  uint64_t bytes() const { return (bits_.size() + ranks_.size()) * sizeof(uint64_t); }

 private:
  static constexpr int64_t kWordsPerBlock = 8;
  const std::shared_ptr<const Selection> from_;
  const std::vector<uint64_t> bits_;
  std::vector<int64_t> ranks_;  // bits set before each block
  int64_t size_ = 0;
};

/// The first `size` of another selection.
/// Shares the other; nothing is copied.
std::shared_ptr<const Selection> first_of(std::shared_ptr<const Selection> from, int64_t size);

/// `size` of another selection, evenly spread over it: the i-th is its number i * its size / size, rounded down.
std::shared_ptr<const Selection> spread_over(std::shared_ptr<const Selection> from, int64_t size);

/// The same where reading one row costs reading its chunk: `rows` says how many of `from` each chunk has. As few chunks as have `size` rows at
/// the mean, evenly spread, and the first rows of each; more chunks where the chosen ones have too few.
std::shared_ptr<const Selection> spread_over_chunks(std::shared_ptr<const Selection> from,
                                                    std::span<const int64_t> rows, int64_t size);

}  // namespace forebay
