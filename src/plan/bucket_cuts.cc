#include "plan/bucket_cuts.h"

#include <algorithm>
#include <cmath>

namespace forebay {

namespace {

// Finds cuts of one list of lengths.
class Cutter {
 public:
  Cutter(std::span<const float> lengths, const BucketRules& rules)
      : lengths_(lengths), rules_(rules), size_(static_cast<uint32_t>(lengths.size())), cost_before_(size_ + 1),
        fewest_(size_ + 1) {
    for (uint32_t i = 0; i < size_; ++i) cost_before_[i + 1] = cost_before_[i] + rules_.cost_of(lengths_[i]);
    for (uint32_t i = size_; i-- > 0;) fewest_[i] = 1 + fewest_[full_end(i)];
  }

  uint32_t fewest() const { return fewest_[0]; }

  std::vector<uint32_t> full() const {
    std::vector<uint32_t> begins;
    for (uint32_t at = 0; at < size_; at = full_end(at)) begins.push_back(at);
    begins.push_back(size_);
    return begins;
  }

  // `batches`: from fewest() to the number of samples.
  std::vector<uint32_t> balanced(uint32_t batches) const {
    std::vector<uint32_t> begins;
    uint32_t at = 0;
    for (uint32_t left = batches; left > 0; --left) {
      begins.push_back(at);
      at = balanced_end(at, left);
    }
    begins.push_back(size_);
    return begins;
  }

 private:
  // The end of the longest batch that begins here.
  uint32_t full_end(uint32_t begin) const {
    const uint32_t end = rules_.padded || !rules_.has_budget() ? padded_end(begin) : unpadded_end(begin);
    return rules_.boundaries.empty() ? end : std::min(end, bucket_end(begin));
  }

  uint32_t padded_end(uint32_t begin) const {
    const int64_t rows = std::min<int64_t>(rules_.rows_limit(lengths_[begin]), size_ - begin);
    return begin + static_cast<uint32_t>(rows);
  }

  // Without padding, a batch may have more rows than fit at the length of its longest.
  uint32_t unpadded_end(uint32_t begin) const {
    const double most = cost_before_[begin] + rules_.budget;
    const auto behind = std::upper_bound(cost_before_.begin() + begin + 1, cost_before_.end(), most);
    const int64_t rows = behind - cost_before_.begin() - 1 - begin;
    const int64_t limit = rules_.sizes.empty() ? rules_.most_rows : rules_.sizes[rules_.bucket_of(lengths_[begin])];
    return begin + static_cast<uint32_t>(std::clamp<int64_t>(rows, 1, std::min(limit, rules_.most_rows)));
  }

  uint32_t bucket_end(uint32_t begin) const {
    const size_t bucket = rules_.bucket_of(lengths_[begin]);
    if (bucket == 0) return size_;
    const float least = rules_.boundaries[bucket - 1];
    const auto end =
        std::partition_point(lengths_.begin() + begin, lengths_.end(), [&](float l) { return l >= least; });
    return static_cast<uint32_t>(end - lengths_.begin());
  }

  // The end of a batch that leaves an equal share of the cost to each of the others, as far as the
  // rest then fits into `left` - 1 batches of at least one sample.
  uint32_t balanced_end(uint32_t begin, uint32_t left) const {
    const uint32_t furthest = std::min(full_end(begin), size_ - (left - 1));
    const double share = (cost_before_[size_] - cost_before_[begin]) / left;
    uint32_t end = std::clamp(nearest_end(begin, share, furthest), begin + 1, furthest);
    while (fewest_[end] > left - 1) ++end;
    return end;
  }

  uint32_t nearest_end(uint32_t begin, double share, uint32_t furthest) const {
    if (!rules_.padded) {
      const auto end = std::lower_bound(cost_before_.begin() + begin, cost_before_.end(), cost_before_[begin] + share);
      return static_cast<uint32_t>(end - cost_before_.begin());
    }
    const double rows = std::round(share / rules_.cost_of(lengths_[begin]));
    return rows < furthest - begin ? begin + static_cast<uint32_t>(rows) : furthest;
  }

  const std::span<const float> lengths_;
  const BucketRules& rules_;
  const uint32_t size_;
  std::vector<double> cost_before_;  // of the first i samples
  std::vector<uint32_t> fewest_;     // batches that samples i, i + 1, … need. Never rises with i
};

}  // namespace

std::vector<uint32_t> cut_batches(std::span<const float> lengths, const BucketRules& rules, int64_t multiple) {
  const Cutter cutter(lengths, rules);
  if (!rules.has_budget()) return cutter.full();
  const int64_t fewest = cutter.fewest(), rounded = (fewest + multiple - 1) / multiple * multiple;
  const bool cheap = (rounded - fewest) * 50 <= fewest && rounded <= std::ssize(lengths);
  return cutter.balanced(static_cast<uint32_t>(cheap ? rounded : fewest));
}

std::vector<double> costs_of(std::span<const float> lengths, std::span<const uint32_t> begins,
                             const BucketRules& rules) {
  std::vector<double> costs;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    double cost = static_cast<double>(begins[i + 1] - begins[i]) * rules.cost_of(lengths[begins[i]]);
    if (!rules.padded) {
      cost = 0;
      for (uint32_t at = begins[i]; at < begins[i + 1]; ++at) cost += rules.cost_of(lengths[at]);
    }
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace forebay
