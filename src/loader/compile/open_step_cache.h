#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "cache/cache.h"
#include "pipeline/branch_plan.h"
#include "pipeline/description.h"

namespace forebay {

/// The cache that one `.cache()` step of a run asks for.
struct StepCacheRequest {
  const Description& description;
  size_t step;               ///< index of the step
  Hash128 content_id;        ///< hash of all that determines the content
  uint64_t min_entry_bytes;  ///< least size of an entry before compression
  const Source& source;
  const Selection& selection;            ///< samples of the run; the first shows whether they have versions
  std::optional<uint64_t> memory_limit;  ///< set by the user; entries in memory are a part of it
  int local_ranks;                       ///< processes that share the machine
};

/// Opens the cache of a step.
///
/// A later run cannot recognize a source without lasting versions (Identity::lasting). Then nothing
/// is cached on disk, and entries in memory are shared with no other source. If less is cached than
/// the user asked for, a warning is logged. InvalidArgument if a budget cannot be met, or is too
/// small for any entry.
Result<std::shared_ptr<TieredCache>> open_step_cache(const StepCacheRequest& request);

}  // namespace forebay
