#include "ops/image/color.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

// tests/golden has Pillow's own bytes; these tests check properties of every colour.

namespace forebay {
namespace {

using Colour = std::array<uint8_t, 3>;

// A grid with both ends of each channel and their neighbours.
std::vector<Colour> colours() {
  std::vector<Colour> all;
  const uint8_t levels[] = {0, 1, 2, 17, 64, 100, 127, 128, 129, 200, 253, 254, 255};
  for (const uint8_t r : levels)
    for (const uint8_t g : levels)
      for (const uint8_t b : levels) all.push_back({r, g, b});
  return all;
}

std::vector<uint8_t> packed(const std::vector<Colour>& list) {
  std::vector<uint8_t> pixels;
  for (const Colour& colour : list) pixels.insert(pixels.end(), colour.begin(), colour.end());
  return pixels;
}

int luma_of(const Colour& c) { return (c[0] * 19595 + c[1] * 38470 + c[2] * 7471 + 0x8000) >> 16; }

TEST(brightness, is_the_product_cut_down_and_clipped) {
  for (const float factor : {0.0f, 0.3f, 0.999f, 1.0f, 1.7f, 300.0f}) {
    std::vector<uint8_t> pixels(256);
    for (int i = 0; i < 256; ++i) pixels[i] = static_cast<uint8_t>(i);
    adjust_brightness(factor, pixels);
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(int{pixels[i]}, static_cast<int>(std::min(static_cast<float>(i) * factor, 255.0f))) << factor;
  }
}

TEST(contrast, of_zero_is_the_mean_grey_of_all_pixels) {
  const std::vector<Colour> all = colours();
  std::vector<uint8_t> pixels = packed(all);
  double sum = 0;
  for (const Colour& colour : all) sum += luma_of(colour);
  const auto mean = static_cast<uint8_t>(sum / static_cast<double>(all.size()) + 0.5);
  adjust_contrast(0, 3, pixels);
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), mean), static_cast<std::ptrdiff_t>(pixels.size()));
  std::vector<uint8_t> grey = {0, 10, 20, 31};
  adjust_contrast(0, 1, grey);
  EXPECT_EQ(grey, std::vector<uint8_t>(4, 15)) << "15.25 is nearest to 15";
}

TEST(contrast, above_one_moves_values_away_from_the_mean_and_below_one_towards_it) {
  const std::vector<uint8_t> before = {100, 110, 120, 130, 140};
  std::vector<uint8_t> stronger = before, weaker = before;
  adjust_contrast(2, 1, stronger);
  adjust_contrast(0.5f, 1, weaker);
  EXPECT_EQ(stronger, (std::vector<uint8_t>{80, 100, 120, 140, 160}));
  EXPECT_EQ(weaker, (std::vector<uint8_t>{110, 115, 120, 125, 130}));
}

TEST(saturation, of_zero_is_each_pixels_own_grey) {
  const std::vector<Colour> all = colours();
  std::vector<uint8_t> pixels = packed(all);
  adjust_saturation(0, pixels);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(int{pixels[3 * i + c]}, luma_of(all[i]));
}

TEST(colour_changes, of_a_factor_of_one_leave_every_colour_alone) {
  const std::vector<uint8_t> before = packed(colours());
  std::vector<uint8_t> pixels = before;
  adjust_brightness(1, pixels);
  adjust_contrast(1, 3, pixels);
  adjust_saturation(1, pixels);
  EXPECT_EQ(pixels, before);
}

TEST(hue, of_greys_is_nothing_that_could_be_shifted) {
  for (int level = 0; level < 256; ++level) {
    std::vector<uint8_t> pixel(3, static_cast<uint8_t>(level));
    adjust_hue(0.37, pixel);
    EXPECT_EQ(pixel, std::vector<uint8_t>(3, static_cast<uint8_t>(level)));
  }
}

// The value (the largest channel) is preserved exactly; saturation and hue go through 8 bits.
TEST(hue, keeps_the_brightest_channel_of_every_colour_at_any_shift) {
  const std::vector<Colour> all = colours();
  for (const double shift : {-0.5, -0.21, 0.0, 0.1, 0.3333, 0.5}) {
    std::vector<uint8_t> pixels = packed(all);
    adjust_hue(shift, pixels);
    for (size_t i = 0; i < all.size(); ++i) {
      const Colour made = {pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]};
      ASSERT_EQ(*std::ranges::max_element(made), *std::ranges::max_element(all[i])) << shift << ", colour " << i;
    }
  }
}

TEST(hue, of_a_third_of_the_circle_takes_pure_red_to_green_to_blue) {
  std::vector<uint8_t> pixel = {255, 0, 0};
  adjust_hue(1.0 / 3, pixel);
  EXPECT_EQ(pixel, (std::vector<uint8_t>{0, 255, 0}));
  adjust_hue(1.0 / 3, pixel);
  EXPECT_EQ(pixel, (std::vector<uint8_t>{0, 0, 255}));
}

// Hue has 256 values and a whole turn is 255, so a shift there and back is off by at most one step.
TEST(hue, shifted_there_and_back_is_nearly_the_colour_before) {
  for (const Colour& colour : colours()) {
    std::vector<uint8_t> pixel(colour.begin(), colour.end());
    adjust_hue(0.2, pixel);
    adjust_hue(-0.2, pixel);
    for (size_t c = 0; c < 3; ++c)
      ASSERT_NEAR(pixel[c], colour[c], 16) << int{colour[0]} << " " << int{colour[1]} << " " << int{colour[2]};
  }
}

}  // namespace
}  // namespace forebay
