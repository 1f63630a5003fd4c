#include "ops/image/simd_level.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace forebay {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"scalar", "neon", "sse4", "avx2", "avx512"};

std::vector<SimdLevel> supported_levels() {
  std::vector<SimdLevel> levels = {SimdLevel::kScalar};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.1")) levels.push_back(SimdLevel::kSse4);
  if (__builtin_cpu_supports("avx2")) levels.push_back(SimdLevel::kAvx2);
  // Byte operations and shorter vectors are separate extensions that early AVX-512 processors lack.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    levels.push_back(SimdLevel::kAvx512);
#elif defined(__aarch64__)
  levels.push_back(SimdLevel::kNeon);
#endif
  return levels;
}

// An unknown instruction ends the process, so a level that the processor lacks is never used.
SimdLevel supported_level(SimdLevel asked) {
  const std::span<const SimdLevel> levels = simd_levels();
  return *std::prev(std::upper_bound(levels.begin(), levels.end(), asked));
}

SimdLevel initial_level() {
  const char* asked = std::getenv("FOREBAY_SIMD");
  return supported_level(simd_level_from_name(asked == nullptr ? "" : asked).value_or(best_simd_level()));
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

std::span<const SimdLevel> simd_levels() {
  static const std::vector<SimdLevel> levels = supported_levels();
  return levels;
}

SimdLevel simd_level() { return current_level().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) { current_level().store(supported_level(level), std::memory_order_relaxed); }

}  // namespace forebay
