#pragma once

#include <cstdint>
#include <span>

#include "ops/image/axis.h"
#include "ops/image/pixel_source.h"

namespace forebay {

/// Fills `indices` with the source of each element along one axis of the output: an index into the
/// source, or -1 for a zero. `spec` must need no weighted sum. It begins at `source_first` in the
/// source and at `margin` in the output.
void fill_indices(const AxisSpec& spec, int64_t source_first, int64_t margin, std::span<int64_t> indices);

/// Copies the elements at (rows × columns) of a picture to `out`, which must be large enough for
/// all of them. The elements keep the source's type and their exact value, so every type is
/// supported.
void gather_elements(const TensorPixels& from, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     bool channels_first, uint8_t* out);

}  // namespace forebay
