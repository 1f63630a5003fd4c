// Compiled for AVX512 (CMakeLists.txt).
#if defined(__AVX512F__)
#define XXH_VECTOR XXH_AVX512
#define FOREBAY_HASH_KERNELS hash_kernels_avx512
#include "base/hash_kernels.inl"
#else
#include "base/hash_kernels.h"

namespace forebay {

const HashKernels* hash_kernels_avx512() { return nullptr; }

}  // namespace forebay
#endif
