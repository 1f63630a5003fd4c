#pragma once

#include <memory>

#include "cache/cache.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// The cache that the step of a `.cache()` asks for. `place` identifies what it holds; an entry has `least_bytes` at least before
/// it is compressed. Where samples of `source` are known only to itself, nothing is kept on disk, and what is in memory is shared with
/// nobody; a warning says what is kept less than was asked for. InvalidArgument where a budget is out of reach, or too small for any entry.
Result<std::shared_ptr<TieredCache>> open_step_cache(const Description& description, size_t step, const Hash128& place,
                                                     uint64_t least_bytes, const Source& source,
                                                     const Selection& selection);

}  // namespace forebay
