#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace forebay {

/// Instruction sets the image kernels are written for: one for aarch64, three for x86. All give the
/// same bytes.
enum class SimdLevel : uint8_t { kScalar, kNeon, kSse4, kAvx2, kAvx512 };

/// "scalar", "neon", "sse4", "avx2", "avx512".
std::string_view simd_level_name(SimdLevel level);
std::optional<SimdLevel> simd_level_from_name(std::string_view name);

/// The levels that this processor supports: kScalar first, the best one last.
std::span<const SimdLevel> simd_levels();
inline SimdLevel best_simd_level() { return simd_levels().back(); }
/// The level in use: the best one, or the last of simd_levels() that is not after the one that
/// FOREBAY_SIMD (environment) or set_simd_level() requests. An unknown name is ignored.
SimdLevel simd_level();
/// For tests and benchmarks. Running calls finish at the level they began with.
void set_simd_level(SimdLevel level);

}  // namespace forebay
