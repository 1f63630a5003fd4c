#pragma once

#include "ops/definition/portable_math.h"

namespace forebay {

/// 10^(db / 20): how much larger the samples are, the same on every machine.
inline double amplitude_of_db(double db) { return portable_exp(db * (2.302585092994045684018 / 20)); }

}  // namespace forebay
