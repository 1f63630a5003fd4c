#include "ops/audio/mel_filters.h"

#include <cmath>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(MelFilters, scales_agree_with_their_definitions_and_turn_back) {
  EXPECT_NEAR(mel_of_hz(1000, MelScale::kHtk), 999.9855, 1e-3);
  EXPECT_NEAR(mel_of_hz(440, MelScale::kHtk), 2595 * std::log10(1 + 440 / 700.0), 1e-9);
  EXPECT_NEAR(mel_of_hz(1000, MelScale::kSlaney), 15, 1e-12);
  EXPECT_NEAR(mel_of_hz(6400, MelScale::kSlaney), 42, 1e-12);
  for (const MelScale scale : {MelScale::kHtk, MelScale::kSlaney}) {
    for (double hz = 0; hz < 20'000; hz += 333) EXPECT_NEAR(hz_of_mel(mel_of_hz(hz, scale), scale), hz, 1e-8);
  }
}

TEST(MelFilters, neighbours_share_each_bin_between_their_middles) {
  MelSpec spec;
  spec.n_mels = 40;
  const MelFilters filters(spec);
  ASSERT_EQ(filters.bands(), 40);
  // The triangles add up to 1 between the first middle and the last.
  for (int64_t k = 3; k < 185; ++k) {
    double sum = 0;
    for (int64_t m = 0; m < 40; ++m) sum += filters.weight(m, k);
    EXPECT_NEAR(sum, 1, 1e-6) << k;
  }
}

TEST(MelFilters, bands_too_narrow_for_a_bin_are_empty) {
  MelSpec spec;
  spec.n_fft = 64;
  const MelFilters filters(spec);
  Lanes spectrum[33];
  for (Lanes& bin : spectrum) bin = Lanes{1, 1, 1, 1};
  EXPECT_EQ(filters.apply(0, spectrum)[0], 0);
}

TEST(MelFilters, slaney_gives_each_band_the_area_of_one) {
  MelSpec spec;
  spec.n_fft = 8192;
  spec.n_mels = 20;
  spec.normalized = true;
  spec.scale = MelScale::kSlaney;
  const MelFilters filters(spec);
  for (int64_t m = 0; m < 20; ++m) {
    double area = 0;
    for (int64_t k = 0; k <= 4096; ++k) area += filters.weight(m, k) * 16000.0 / 8192;
    EXPECT_NEAR(area, 1, 1e-3) << m;
  }
}

}  // namespace
}  // namespace forebay
