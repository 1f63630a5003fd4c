#pragma once

#include <cstdint>

namespace forebay {

/// Returns the peak resident memory of this process in bytes (Linux: VmHWM), or 0 if unknown.
uint64_t peak_resident_bytes();

}  // namespace forebay
