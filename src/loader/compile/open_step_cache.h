#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cache/cache.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// The cache that the step of a `.cache()` asks for. `place` identifies what it holds; an entry has `least_bytes` at least before
/// it is compressed. Where samples of `source` are known only to itself, nothing is kept on disk, and what is in memory is shared with
/// nobody; `memory`: what the user gave, of which entries in memory are a part; `local_ranks`: that share the machine. A warning says what is kept less than was asked for. InvalidArgument where a budget is out of reach, or too small for any entry.
Result<std::shared_ptr<TieredCache>> open_step_cache(const Description& description, size_t step, const Hash128& place,
                                                     uint64_t least_bytes, const Source& source,
                                                     const Selection& selection, std::optional<uint64_t> memory,
                                                     int local_ranks);

/// What a cache may have of the `memory` that a user gave: half of it, so that batches always have the other.
constexpr uint64_t cached_at_most(std::optional<uint64_t> memory) { return memory ? *memory / 2 : UINT64_MAX; }

}  // namespace forebay
