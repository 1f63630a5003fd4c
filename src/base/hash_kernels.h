#pragma once

#include <stddef.h>
#include <stdint.h>

// Included by files that are compiled for more than the least processor: inline functions of the standard library would be, too, and the
// linker may take those for everybody. So C's headers alone.

namespace forebay {

/// xxh3, written for one instruction set. All give the same bits; `state` is xxHash's own, which all share.
struct HashKernels {
  void (*hash128)(const void* data, size_t size, uint64_t* low, uint64_t* high);
  uint64_t (*hash64)(const void* data, size_t size);
  void (*update)(void* state, const void* data, size_t size);
};

/// Null on processors of other kinds.
const HashKernels* hash_kernels_avx2();
const HashKernels* hash_kernels_avx512();

}  // namespace forebay
