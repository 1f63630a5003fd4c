#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "forebay/dtype.h"
#include "ops/image/cast_elements.h"

namespace forebay {

/// Whether `to` holds every number that `from` does. Floating types hold any number, if not exactly, and so does bool.
bool always_fits(DType from, DType to);

/// The place of the first of `n` elements that `to` cannot hold: outside its ends once it is rounded, or NaN where `to` is an integer.
std::optional<int64_t> first_unfit(DType from, const uint8_t* in, DType to, int64_t n, Rounding rounding);

/// "300 at element 2, and uint8 goes from 0 to 255": what first_unfit() found. The place only where there are others.
std::string unfit_text(DType from, const uint8_t* in, DType to, int64_t place, bool alone);

}  // namespace forebay
