#pragma once

#include <cstddef>
#include <functional>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Allocates memory for a large result, not initialised. The memory returns to the allocator, which
/// reuses it, when the last reader releases the buffer: fresh pages cost more than a copy. If the
/// function is empty, memory comes from the system. May be called from any thread.
using BufferAllocator = std::function<Result<Buffer>(size_t)>;

inline Result<Buffer> allocate_buffer(const BufferAllocator& allocate, size_t bytes) {
  return allocate ? allocate(bytes) : Result<Buffer>(Buffer::allocate(bytes));
}

}  // namespace forebay
