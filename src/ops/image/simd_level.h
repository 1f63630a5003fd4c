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

/// The best level of this processor.
SimdLevel best_simd_level();
/// The level in use: the best one, or what the environment variable FOREBAY_SIMD or set_simd_level() asks for, never
/// more than the processor has. A name that does not exist is ignored.
SimdLevel simd_level();
/// For tests and benchmarks. Calls that are running keep the level they began with.
void set_simd_level(SimdLevel level);

}  // namespace forebay
