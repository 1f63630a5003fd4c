#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Turns columns into rows: row r of `out` consists of piece r of each column in turn. A piece has
/// `piece_bytes` bytes, and each column has `rows` pieces. `out` must be large enough for all of
/// them. No pointer needs alignment.
void interleave(std::span<const uint8_t* const> columns, size_t piece_bytes, int64_t rows, uint8_t* out);

}  // namespace forebay
