#pragma once

// Support for the tests of sound: samples made by a formula.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace forebay::ops_test {

/// Two tones and something like noise, the same on every machine.
inline std::vector<float> made_sound(int64_t count, int64_t rate = 16000) {
  std::vector<float> samples;
  uint32_t noise = 1;
  for (int64_t i = 0; i < count; ++i) {
    noise = noise * 1664525u + 1013904223u;
    const double t = static_cast<double>(i) / static_cast<double>(rate);
    samples.push_back(static_cast<float>(0.3 * std::sin(2 * std::numbers::pi * 440 * t) +
                                         0.2 * std::sin(2 * std::numbers::pi * 3000 * t) +
                                         0.1 * (noise / 0x1p32 - 0.5)));
  }
  return samples;
}

}  // namespace forebay::ops_test
