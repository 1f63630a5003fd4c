#pragma once

#include <cstdint>
#include <span>

#include "ops/image/axis.h"
#include "ops/image/pixel_source.h"

namespace forebay {

/// Where the elements of one axis of the output come from: an index of the source, or -1 for a zero. `spec` (without a
/// weighted sum) begins at `source_first` of the source and at `margin` of the output.
void fill_indices(const AxisSpec& spec, int64_t source_first, int64_t margin, std::span<int64_t> indices);

/// Copies the elements at (rows × columns) of a picture of any type, in the source's type, to `out`.
/// `out` has room for all; no kernel and no rounding has part in it, so any type goes through.
void gather_elements(const TensorPixels& from, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     bool channels_first, uint8_t* out);

}  // namespace forebay
