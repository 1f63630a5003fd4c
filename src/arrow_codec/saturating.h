#pragma once

#include <cstdint>

namespace forebay {

/// Arithmetic on counts that a file states, which may be damaged or hostile: UINT64_MAX stands for
/// every number beyond it, and no budget holds that many bytes.
inline uint64_t saturating_times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
inline uint64_t saturating_plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace forebay
