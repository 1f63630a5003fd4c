#pragma once

#include <stddef.h>
#include <stdint.h>

// Files that are compiled for newer processors include this header. Inline functions of the
// standard library would be compiled for those processors, too, and the linker may choose them for
// the whole program. So this header includes headers of C alone.

namespace forebay {

/// xxh3 for one instruction set. All of them compute the same bits. `state` is xxHash's own type,
/// which all of them share.
struct HashKernels {
  void (*hash128)(const void* data, size_t size, uint64_t* low, uint64_t* high);
  uint64_t (*hash64)(const void* data, size_t size);
  void (*update)(void* state, const void* data, size_t size);
};

/// Null if this build is for another kind of processor.
const HashKernels* hash_kernels_avx2();
const HashKernels* hash_kernels_avx512();

}  // namespace forebay
