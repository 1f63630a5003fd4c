#include "ops/audio/white_noise.h"

#include <cmath>

#include "ops/definition/portable_math.h"

namespace forebay {
namespace {

constexpr double kWords = 0x1p32;

}  // namespace

void fill_white_noise(RandomStream& random, std::span<float> out) {
  for (size_t i = 0; i < out.size(); i += 2) {
    // The Box-Muller method makes two normal numbers from two uniform ones. 1 is added, because 0
    // has no logarithm.
    const double radius = std::sqrt(-2.0 * portable_log((random.next_u32() + 1.0) / kWords));
    const double turns = random.next_u32() / kWords;
    out[i] = static_cast<float>(radius * portable_cos_turns(turns));
    if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * portable_sin_turns(turns));
  }
}

}  // namespace forebay
