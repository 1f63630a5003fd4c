#include "ops/image/simd_level.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

namespace forebay {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"scalar", "sse4", "avx2", "avx512"};

SimdLevel initial_level() {
  const char* asked = std::getenv("FOREBAY_SIMD");
  const auto level = simd_level_from_name(asked == nullptr ? "" : asked);
  // The level is never above the processor's level: an unknown instruction ends the process.
  return std::min(level.value_or(best_simd_level()), best_simd_level());
}

std::atomic<SimdLevel>& current_level() {
  static std::atomic<SimdLevel> level{initial_level()};
  return level;
}

}  // namespace

std::string_view simd_level_name(SimdLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

std::optional<SimdLevel> simd_level_from_name(std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<SimdLevel>(found - kLevelNames.begin());
}

SimdLevel best_simd_level() {
#if defined(__x86_64__)
  // Byte operations and shorter vectors are separate extensions that early AVX-512 processors lack.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return SimdLevel::kAvx512;
  }
  if (__builtin_cpu_supports("avx2")) return SimdLevel::kAvx2;
  if (__builtin_cpu_supports("sse4.1")) return SimdLevel::kSse4;
#endif
  return SimdLevel::kScalar;
}

SimdLevel simd_level() { return current_level().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) {
  current_level().store(std::min(level, best_simd_level()), std::memory_order_relaxed);
}

}  // namespace forebay
