#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// Changes of 8-bit pixels in place, exactly as torchvision makes them on Pillow pictures: each is a blend with
/// something flat (black, the mean grey, the pixel's own grey); a factor of 1 changes nothing.
void adjust_brightness(float factor, std::span<uint8_t> pixels);
/// `channels` is 1 or 3.
void adjust_contrast(float factor, int64_t channels, std::span<uint8_t> pixels);
/// RGB.
void adjust_saturation(float factor, std::span<uint8_t> pixels);
/// RGB; `shift` is a part of the colour circle, -0.5 to 0.5.
void adjust_hue(double shift, std::span<uint8_t> pixels);

}  // namespace forebay
