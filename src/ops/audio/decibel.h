#pragma once

#include "ops/definition/portable_math.h"

namespace forebay {

/// The amplitude factor of a gain in decibels, 10^(db / 20). It is the same on every machine.
inline double amplitude_of_db(double db) { return portable_exp(db * (2.302585092994045684018 / 20)); }

}  // namespace forebay
