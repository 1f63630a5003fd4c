#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cache/cache.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// Opens the cache that a `.cache()` step asks for. `place` identifies its content. An entry has at
/// least `least_bytes` before compression. `memory` is the limit that the user set, of which
/// entries in memory are a part. `local_ranks` is the number of processes that share the machine.
///
/// If the identities of `source` hold only for this very source object, nothing is cached on disk,
/// and entries in memory are shared with no other source. A warning reports that less is cached
/// than requested. InvalidArgument if a budget cannot be met, or is too small for any entry.
Result<std::shared_ptr<TieredCache>> open_step_cache(const Description& description, size_t step, const Hash128& place,
                                                     uint64_t least_bytes, const Source& source,
                                                     const Selection& selection, std::optional<uint64_t> memory,
                                                     int local_ranks);

/// Most bytes that caches may take of the `memory` that a user set: half of it. The rest is for
/// batches.
constexpr uint64_t cached_at_most(std::optional<uint64_t> memory) { return memory ? *memory / 2 : UINT64_MAX; }

}  // namespace forebay
