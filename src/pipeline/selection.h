#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"

namespace forebay {

/// The samples of a source that take part in a run, numbered from 0 for the order. Immutable, and
/// used by any number of threads.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual int64_t size() const = 0;
  /// The id in the source of the `index`-th sample that takes part.
  virtual int64_t id_at(int64_t index) const = 0;
  /// Replaces each index by its id, for many samples at once.
  virtual void ids_at(std::span<int64_t> indices) const {
    for (int64_t& index : indices) index = id_at(index);
  }
};

/// Number of selected ids below `id`, by binary search: ids of a selection ascend.
int64_t selected_before(const Selection& selection, int64_t id);

/// The first `size` samples of the source.
std::shared_ptr<const Selection> first_samples(int64_t size);

/// The samples of `from` whose bit is set: bits[i] belongs to the i-th of them. It takes one bit
/// for each sample, and 1/8 more as an index.
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
  std::vector<int64_t> ranks_;  // bits set before each block of kWordsPerBlock words
  int64_t size_ = 0;
};

/// The first `size` samples of another selection, which is shared and not copied.
std::shared_ptr<const Selection> first_of(std::shared_ptr<const Selection> from, int64_t size);

/// `size` samples evenly spread over another selection: the i-th is its sample i * from->size() /
/// size, rounded down.
std::shared_ptr<const Selection> spread_over(std::shared_ptr<const Selection> from, int64_t size);

/// Like spread_over(), for sources that read whole chunks: `rows` has the number of samples of
/// `from` in each chunk. It takes the first rows of as few chunks, evenly spread, as have `size`
/// rows on average, and adds chunks if the chosen ones have too few rows.
std::shared_ptr<const Selection> spread_over_chunks(std::shared_ptr<const Selection> from,
                                                    std::span<const int64_t> rows, int64_t size);

}  // namespace forebay
