#include "plan/permutation.h"

#include <utility>

namespace forebay {

PermutationShape PermutationShape::of(int64_t size) {
  assert(size >= 0);
  if (size <= kTableSize) return {size, 0, 0, 0};
  const auto last = static_cast<uint64_t>(size) - 1;
  // left_size << right_bits goes beyond `size` by less than 1 << right_bits, so few values are sent through again.
  const int right_bits = std::bit_width(last) / 2;
  // Measured over 60 million differences of ids: 6 rounds show at every size below 1,000, 8 at those below 128, 10
  // nearly at 72, and 4 at any size in one epoch. Taken: two more than the least that passes.
  const int rounds = size < (int64_t{1} << 16) ? 12 : 8;
  return {size, (last >> right_bits) + 1, right_bits, rounds};
}

// Fisher-Yates. Each draw has a block of its own, so the draws do not wait for each other; 64 bits spread over at most
// 64 values are even to 2^-58, far below anything that can be seen.
void Permutation::fill_table() {
  const auto size = static_cast<size_t>(shape_.size);
  for (size_t i = 0; i < size; ++i) table_[i] = static_cast<uint8_t>(i);
  for (size_t i = size; i > 1; --i) {
    const uint64_t draw = philox4x32(i, key_.b, key_.a)[0];
    const auto j = static_cast<size_t>(static_cast<unsigned __int128>(draw) * i >> 64);
    std::swap(table_[i - 1], table_[j]);
  }
}

int64_t Permutation::find_in_table(int64_t index) const {
  int64_t position = 0;
  while (table_[static_cast<size_t>(position)] != index) ++position;
  return position;
}

}  // namespace forebay
