#pragma once

#include <span>

#include "plan/random.h"

namespace forebay {

/// Fills `out` with independent normal numbers of mean 0 and deviation 1 (Box and Muller's method, two words of the stream each), the same on
/// every machine.
void fill_white_noise(RandomStream& random, std::span<float> out);

}  // namespace forebay
