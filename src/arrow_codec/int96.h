#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// Combines two readings of INT96 timestamps into ticks since 1970, `ticks_per_second` of them:
/// `seconds`, which never overflow, and `nanoseconds`, which may. Writes as many to `out`, and sets
/// each byte of `exact`: 0 if the value does not fit or has a finer fraction, else 1.
void join_int96(std::span<const int64_t> seconds, std::span<const int64_t> nanoseconds, int64_t ticks_per_second,
                int64_t* out, uint8_t* exact);

}  // namespace forebay
