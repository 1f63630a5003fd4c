#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include "plan/bucket_rules.h"
#include "plan/random.h"

namespace forebay {

/// Whole lengths with a long tail, as those of sentences and recordings: log-normal with this
/// median and a sigma of 0.6.
inline std::vector<float> long_tailed_lengths(int64_t count, double median, uint64_t seed = 1) {
  RandomStream random({.seed = seed}, 0);
  std::vector<float> lengths;
  for (int64_t i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
    lengths.push_back(static_cast<float>(std::ceil(median * std::exp(0.6 * normal))));
  }
  return lengths;
}

inline SampleLengths shared_lengths(std::vector<float> lengths) {
  return std::make_shared<const std::vector<float>>(std::move(lengths));
}

}  // namespace forebay
