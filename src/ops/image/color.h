#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// In-place colour changes of 8-bit pixels, bit for bit as torchvision makes them on Pillow
/// pictures. Brightness, contrast and saturation blend with black, the mean grey and the pixel's
/// own grey; a factor of 1 changes nothing.
void adjust_brightness(float factor, std::span<uint8_t> pixels);
/// `channels` is 1 or 3.
void adjust_contrast(float factor, int64_t channels, std::span<uint8_t> pixels);
/// `pixels` are RGB.
void adjust_saturation(float factor, std::span<uint8_t> pixels);
/// `pixels` are RGB. `shift` is a fraction of the colour circle, from -0.5 to 0.5.
void adjust_hue(double shift, std::span<uint8_t> pixels);

}  // namespace forebay
