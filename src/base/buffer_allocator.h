#pragma once

#include <cstddef>
#include <functional>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Allocates memory for a large result, not initialised. The provider gets the memory back when the
/// last reader is done with it, and reuses it: fresh pages cost more than a copy. If empty, memory
/// comes from the system. May be called from any thread.
using BufferAllocator = std::function<Result<Buffer>(size_t)>;

inline Result<Buffer> allocate_buffer(const BufferAllocator& take, size_t bytes) {
  return take ? take(bytes) : Result<Buffer>(Buffer::allocate(bytes));
}

}  // namespace forebay
