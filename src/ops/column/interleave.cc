#include "ops/column/interleave.h"

#include <algorithm>
#include <cstring>

namespace forebay {
namespace {

// Rows that are finished before the next ones begin. They are few enough that their output stays in
// the nearest cache while column after column is added, and enough that each column is read in
// runs.
constexpr int64_t kBlockRows = 256;

struct Target {
  uint8_t* out;
  size_t stride;  // bytes of a row
};

template <size_t kBytes>
void copy_pieces(const uint8_t* column, int64_t first, int64_t last, Target to) {
  for (int64_t row = first; row < last; ++row) {
    std::memcpy(to.out + static_cast<size_t>(row) * to.stride, column + static_cast<size_t>(row) * kBytes, kBytes);
  }
}

void copy_pieces(const uint8_t* column, size_t bytes, int64_t first, int64_t last, Target to) {
  switch (bytes) {
    // A copy whose size is known at compile time is one move instead of a call.
    case 1: return copy_pieces<1>(column, first, last, to);
    case 2: return copy_pieces<2>(column, first, last, to);
    case 4: return copy_pieces<4>(column, first, last, to);
    case 8: return copy_pieces<8>(column, first, last, to);
    default: break;
  }
  for (int64_t row = first; row < last; ++row) {
    std::memcpy(to.out + static_cast<size_t>(row) * to.stride, column + static_cast<size_t>(row) * bytes, bytes);
  }
}

// A square of 16 bytes per side, transposed in registers. Vectors of 16 bytes exist on all relevant
// processors, so there is one version.
using Words [[gnu::vector_size(16)]] = uint32_t;
using LongWords [[gnu::vector_size(16)]] = uint64_t;

template <typename Vector>
Vector load(const uint8_t* from) {
  Vector v;
  // Compilers turn this into one load, and it breaks no rule about alignment or types.
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <typename Vector>
void store(uint8_t* to, Vector v) {
  std::memcpy(to, &v, sizeof v);
}

void transpose(const uint8_t* const* columns, size_t row, Target to, Words /*pieces of 4 bytes*/) {
  const auto a = load<Words>(columns[0] + row * 4), b = load<Words>(columns[1] + row * 4);
  const auto c = load<Words>(columns[2] + row * 4), d = load<Words>(columns[3] + row * 4);
  const Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  uint8_t* out = to.out + row * to.stride;
  store(out, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store(out + to.stride, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store(out + 2 * to.stride, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store(out + 3 * to.stride, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

void transpose(const uint8_t* const* columns, size_t row, Target to, LongWords /*pieces of 8 bytes*/) {
  const auto a = load<LongWords>(columns[0] + row * 8), b = load<LongWords>(columns[1] + row * 8);
  uint8_t* out = to.out + row * to.stride;
  store(out, __builtin_shufflevector(a, b, 0, 2));
  store(out + to.stride, __builtin_shufflevector(a, b, 1, 3));
}

// Works square by square, one cache line of a row at a time, so that wide rows do not evict each
// other; then does the edges.
template <typename Vector, size_t kBytes>
void transpose_squares(std::span<const uint8_t* const> columns, int64_t first, int64_t last, Target to) {
  constexpr size_t kSide = 16 / kBytes, kLine = 64 / kBytes;
  const size_t square_columns = columns.size() / kSide * kSide;
  const int64_t square_last = first + (last - first) / static_cast<int64_t>(kSide) * static_cast<int64_t>(kSide);
  for (size_t line = 0; line < square_columns; line += kLine) {
    const size_t end = std::min(line + kLine, square_columns);
    for (int64_t row = first; row < square_last; row += static_cast<int64_t>(kSide)) {
      for (size_t c = line; c < end; c += kSide)
        transpose(&columns[c], static_cast<size_t>(row), {to.out + c * kBytes, to.stride}, Vector{});
    }
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    const int64_t from = c < square_columns ? square_last : first;
    copy_pieces<kBytes>(columns[c], from, last, {to.out + c * kBytes, to.stride});
  }
}

}  // namespace

void interleave(std::span<const uint8_t* const> columns, size_t piece_bytes, int64_t rows, uint8_t* out) {
  const Target to = {out, columns.size() * piece_bytes};
  for (int64_t first = 0; first < rows; first += kBlockRows) {
    const int64_t last = std::min(first + kBlockRows, rows);
    if (piece_bytes == 4) {
      transpose_squares<Words, 4>(columns, first, last, to);
    } else if (piece_bytes == 8) {
      transpose_squares<LongWords, 8>(columns, first, last, to);
    } else {
      for (size_t c = 0; c < columns.size(); ++c)
        copy_pieces(columns[c], piece_bytes, first, last, {out + c * piece_bytes, to.stride});
    }
  }
}

}  // namespace forebay
