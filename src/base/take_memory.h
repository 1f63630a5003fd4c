#pragma once

#include <cstddef>
#include <functional>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Where large results get memory that is not written yet: of somebody who has it again when the last reader lets go, since fresh pages
/// cost more than a copy. Empty: from the system. From any thread.
using TakeMemory = std::function<Result<Buffer>(size_t)>;

inline Result<Buffer> memory_from(const TakeMemory& take, size_t bytes) {
  return take ? take(bytes) : Result<Buffer>(Buffer::allocate(bytes));
}

}  // namespace forebay
