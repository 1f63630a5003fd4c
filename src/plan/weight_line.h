#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay {

/// Weights of the places 0, 1, … as whole numbers of units, end to end: place p has the units
/// [before(p), before(p + 1)). Immutable; may be used by several threads at once.
class WeightLine {
 public:
  virtual ~WeightLine() = default;
  virtual int64_t places() const = 0;
  /// Units before a place, which is in [0, places()].
  virtual uint64_t before(int64_t place) const = 0;
  /// The place that has a unit, which is below total(). A place without units is never returned.
  virtual int64_t holding(uint64_t unit) const = 0;
  uint64_t total() const { return before(places()); }
};

/// One unit for each place, in constant memory.
std::unique_ptr<WeightLine> equal_weights(int64_t places);

/// Units in proportion to weights that are finite, at least 0, and not all 0. The total is below
/// 2^62. Equal weights have equal units, and a weight above 0 has at least one. A share is off by
/// less than 2^-60. Memory: 8 bytes a place; a look-up takes the logarithm of their number.
std::unique_ptr<WeightLine> given_weights(const std::vector<double>& weights);

}  // namespace forebay
