#include "arrow_codec/int96.h"

#include <cstddef>

namespace forebay {

void join_int96(std::span<const int64_t> seconds, std::span<const int64_t> nanoseconds, int64_t ticks_per_second,
                int64_t* out, uint8_t* exact) {
  constexpr int64_t kBillion = 1'000'000'000;
  for (size_t i = 0; i < seconds.size(); ++i) {
    // The overflowed nanoseconds give the fraction of a second, because both readings overflow
    // alike.
    const uint64_t fraction_ns =
        static_cast<uint64_t>(nanoseconds[i]) - static_cast<uint64_t>(seconds[i]) * uint64_t{kBillion};
    const auto tick_ns = static_cast<uint64_t>(kBillion / ticks_per_second);
    // Before 1970 it counts backwards from the next second, because the product alone may not fit
    // although the sum does.
    const bool before = seconds[i] < 0;
    const int64_t fraction = static_cast<int64_t>(fraction_ns / tick_ns) - (before ? ticks_per_second : 0);
    int64_t time = 0;
    const bool fits = fraction_ns < uint64_t{kBillion} && fraction_ns % tick_ns == 0 &&
                      !__builtin_mul_overflow(seconds[i] + (before ? 1 : 0), ticks_per_second, &time) &&
                      !__builtin_add_overflow(time, fraction, &time);
    out[i] = time;
    exact[i] = fits ? 1 : 0;
  }
}

}  // namespace forebay
