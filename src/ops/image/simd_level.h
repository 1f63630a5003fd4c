#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay {

/// Instruction sets the image kernels are written for. All give the same bytes.
enum class SimdLevel : uint8_t { kScalar, kSse4, kAvx2, kAvx512 };

/// "scalar", "sse4", "avx2", "avx512".
std::string_view simd_level_name(SimdLevel level);
std::optional<SimdLevel> simd_level_from_name(std::string_view name);

/// The best level that this processor supports.
SimdLevel best_simd_level();
/// The level in use: the best one, or the one that FOREBAY_SIMD (environment) or set_simd_level()
/// requests, but never more than the processor supports. An unknown name is ignored.
SimdLevel simd_level();
/// For tests and benchmarks. Running calls finish at the level they began with.
void set_simd_level(SimdLevel level);

}  // namespace forebay
