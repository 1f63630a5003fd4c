#pragma once

#include <cstdint>

namespace forebay {

/// The most memory this process has had resident so far, in bytes (Linux: VmHWM); 0 where it cannot be told.
uint64_t peak_resident_bytes();

}  // namespace forebay
