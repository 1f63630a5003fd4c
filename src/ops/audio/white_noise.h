#pragma once

#include <span>

#include "plan/random.h"

namespace forebay {

/// Fills `out` with independent normal numbers of mean 0 and standard deviation 1, the same on
/// every machine. The Box-Muller method takes two words of the stream for each pair of numbers.
void fill_white_noise(RandomStream& random, std::span<float> out);

}  // namespace forebay
