// Compiled for AVX2 (CMakeLists.txt).
#if defined(__AVX2__)
#define XXH_VECTOR XXH_AVX2
#define FOREBAY_HASH_KERNELS hash_kernels_avx2
#include "base/hash_kernels.inl"
#else
#include "base/hash_kernels.h"

namespace forebay {

const HashKernels* hash_kernels_avx2() { return nullptr; }

}  // namespace forebay
#endif
