#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Row by row what stands column by column: row r of `out` is piece r of each column in turn, pieces of `piece_bytes` bytes. Each column has
/// `rows` of them, `out` has room for all; nothing need be aligned.
void interleave(std::span<const uint8_t* const> columns, size_t piece_bytes, int64_t rows, uint8_t* out);

}  // namespace forebay
