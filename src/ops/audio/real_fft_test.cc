#include "ops/audio/real_fft.h"

#include <cmath>
#include <complex>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr double kWholeTurn = 6.283185307179586;

// The definition of the transform, in double.
std::complex<double> sum_of(const std::vector<double>& values, size_t k) {
  std::complex<double> sum;
  const auto n = static_cast<double>(values.size());
  for (size_t j = 0; j < values.size(); ++j)
    sum += values[j] * std::polar(1.0, -kWholeTurn * static_cast<double>(j * k % values.size()) / n);
  return sum;
}

class RealFftOf : public testing::TestWithParam<int64_t> {};

TEST_P(RealFftOf, EachLaneHasTheTransformOfItsOwnNumbers) {
  const int64_t n = GetParam();
  std::vector<Lanes> values(static_cast<size_t>(n));
  std::vector<std::vector<double>> lanes(kLanes);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<float>(std::sin(static_cast<double>(i * i * (lane + 3) % 97)));
      values[static_cast<size_t>(i)][lane] = value;
      lanes[static_cast<size_t>(lane)].push_back(value);
    }
  }
  RealFft(n).forward(values.data());
  const double near = 1e-6 * std::sqrt(static_cast<double>(n)) * std::log2(static_cast<double>(n) + 2);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t k = 0; k <= n / 2; ++k) {
      const std::complex<double> sum = sum_of(lanes[static_cast<size_t>(lane)], static_cast<size_t>(k));
      const bool whole = k == 0 || 2 * k == n;  // the others also have an imaginary part
      EXPECT_NEAR(values[static_cast<size_t>(k == 0 ? 0 : 2 * k - 1)][lane], sum.real(), near) << k;
      if (!whole) {
        EXPECT_NEAR(values[static_cast<size_t>(2 * k)][lane], sum.imag(), near) << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSmallOnes, RealFftOf, testing::Range<int64_t>(2, 66));
INSTANTIATE_TEST_SUITE_P(LargeOnes, RealFftOf, testing::Values(120, 200, 400, 401, 441, 512, 1000, 1023, 1024, 2048));

}  // namespace
}  // namespace forebay
