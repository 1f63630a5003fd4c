#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace forebay {

/// The lengths of the samples of a leaf, by their index in its order. All are above 0.
using SampleLengths = std::shared_ptr<const std::vector<float>>;

/// Which samples of like lengths may form a batch. A batch of one sample is always allowed.
struct BucketRules {
  double budget = std::numeric_limits<double>::infinity();  ///< most that a batch may cost
  double linear = 1, quadratic = 0;                         ///< a sample of length l costs linear × l + quadratic × l²
  bool padded = true;                                       ///< each sample of a batch costs as much as its longest
  int64_t most_rows = INT32_MAX;                            ///< most samples of a batch
  /// Ascending. A batch has samples of one side of each. A length equal to a boundary is above it.
  std::vector<float> boundaries = {};
  /// Most samples of a batch between two boundaries: one more than there are boundaries. Empty: no
  /// further limit.
  std::vector<int64_t> sizes = {};

  double cost_of(float length) const {
    const double l = length;
    return linear * l + quadratic * l * l;
  }
  bool has_budget() const { return budget < std::numeric_limits<double>::infinity(); }
  /// The number of boundaries at or below a length.
  size_t bucket_of(float length) const;
  /// The limit of rows for batches whose longest sample has this length, at least 1.
  int64_t rows_limit(float length) const;
  /// The length rounded up by at most 1/64, without a move into another bucket. Samples of one
  /// rounded length are interchangeable, so that batches have other samples in every epoch.
  float rounded(float length) const;
};

/// The samples that a batch has on average, at least 1.
int64_t mean_rows(const BucketRules& rules, std::span<const SampleLengths> lengths);
/// An upper bound of the samples of a batch if an epoch has each sample at most once. Passes over
/// the lengths some thirty times, without memory of its own.
int64_t most_rows(const BucketRules& rules, std::span<const SampleLengths> lengths);
/// The same if samples may come several times.
int64_t most_rows_with_repeats(const BucketRules& rules, std::span<const SampleLengths> lengths);

}  // namespace forebay
