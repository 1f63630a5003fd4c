#include "plan/weight_line.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>

#include "base/part_search.h"

namespace forebay {
namespace {

class EqualWeights final : public WeightLine {
 public:
  explicit EqualWeights(int64_t places) : places_(places) {}
  int64_t places() const override { return places_; }
  uint64_t before(int64_t place) const override { return static_cast<uint64_t>(place); }
  int64_t holding(uint64_t unit) const override { return static_cast<int64_t>(unit); }

 private:
  const int64_t places_;
};

class GivenWeights final : public WeightLine {
 public:
  explicit GivenWeights(std::vector<int64_t> begins) : begins_(std::move(begins)) {}
  int64_t places() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  uint64_t before(int64_t place) const override { return static_cast<uint64_t>(begins_[static_cast<size_t>(place)]); }
  // Places without units begin where the next one does, and the search returns the last of them.
  int64_t holding(uint64_t unit) const override {
    const std::span<const int64_t> begins(begins_.data(), begins_.size() - 1);
    return static_cast<int64_t>(part_holding(begins, static_cast<int64_t>(unit), [](int64_t begin) { return begin; }));
  }

 private:
  const std::vector<int64_t> begins_;  // of each place; then the total
};

// The exponent by which weights are multiplied, so that they add up to nearly 2^61. A power of two
// leaves the digits of a weight as they are.
int scale_of(const std::vector<double>& weights) {
  int largest = 0, bits = 0;
  std::frexp(*std::ranges::max_element(weights), &largest);
  double sum = 0;  // relative to the largest weight, since the sum of all may be too large
  for (const double weight : weights) sum += std::ldexp(weight, -largest);
  std::frexp(sum, &bits);
  return 61 - bits - largest;
}

}  // namespace

std::unique_ptr<WeightLine> equal_weights(int64_t places) { return std::make_unique<EqualWeights>(places); }

std::unique_ptr<WeightLine> given_weights(const std::vector<double>& weights) {
  assert(!weights.empty());
  const int scale = scale_of(weights);
  std::vector<int64_t> begins{0};
  begins.reserve(weights.size() + 1);
  for (const double weight : weights) {
    const int64_t units = std::llround(std::ldexp(weight, scale));
    begins.push_back(begins.back() + (weight > 0 ? std::max<int64_t>(units, 1) : 0));
  }
  return std::make_unique<GivenWeights>(std::move(begins));
}

}  // namespace forebay
