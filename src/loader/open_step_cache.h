#pragma once

#include <memory>

#include "cache/cache.h"
#include "pipeline/description.h"

namespace forebay {

/// The cache that the step of a `.cache()` asks for. `place` identifies what it holds; an entry has `least_bytes` at least before
/// it is compressed. InvalidArgument where a budget is out of reach, or too small for any entry.
Result<std::shared_ptr<TieredCache>> open_step_cache(const Description& description, size_t step, const Hash128& place,
                                                     uint64_t least_bytes);

}  // namespace forebay
