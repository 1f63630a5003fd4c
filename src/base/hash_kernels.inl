// Code that is the same for each instruction set. The including file defines FOREBAY_HASH_KERNELS,
// the name of the function, and XXH_VECTOR.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined registers inside its own intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash_kernels.h"

namespace forebay {

namespace {

void hash128_of(const void* data, size_t size, uint64_t* low, uint64_t* high) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  *low = hash.low64;
  *high = hash.high64;
}

uint64_t hash64_of(const void* data, size_t size) { return XXH3_64bits(data, size); }

void update_with(void* state, const void* data, size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), data, size);
}

}  // namespace

const HashKernels* FOREBAY_HASH_KERNELS() {
  static constexpr HashKernels kKernels{hash128_of, hash64_of, update_with};
  return &kKernels;
}

}  // namespace forebay
