#include "ops/audio/cepstrum.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(Cepstrum, is_the_orthonormal_cosine_transform_of_type_two) {
  constexpr int64_t kBands = 9, kFrames = 3;
  std::vector<float> bands(kBands * kFrames), out(5 * kFrames);
  for (size_t i = 0; i < bands.size(); ++i) bands[i] = static_cast<float>(i * i % 17);
  const std::vector<float> given = bands;
  Cepstrum(5, kBands, 0).compute(bands.data(), kFrames, out.data());
  for (int64_t k = 0; k < 5; ++k) {
    for (int64_t f = 0; f < kFrames; ++f) {
      double sum = 0;
      for (int64_t m = 0; m < kBands; ++m)
        sum += given[static_cast<size_t>(m * kFrames + f)] * std::cos(std::numbers::pi / kBands * (m + 0.5) * k);
      sum *= std::sqrt((k == 0 ? 1.0 : 2.0) / kBands);
      EXPECT_NEAR(out[static_cast<size_t>(k * kFrames + f)], sum, 1e-4) << k << " " << f;
    }
  }
}

TEST(Cepstrum, lifts_what_lies_too_far_below_the_loudest) {
  std::vector<float> bands = {0, -100, -30, -79}, out(4);
  Cepstrum(1, 1, 80).compute(bands.data(), 4, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, -80, -30, -79}));
}

}  // namespace
}  // namespace forebay
