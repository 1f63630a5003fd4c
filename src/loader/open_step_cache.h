#pragma once

#include <memory>

#include "cache/cache.h"
#include "pipeline/description.h"

namespace forebay {

/// The cache that a `.cache()` step asks for. `place` identifies what it holds; `description` and `step` say it to people.
Result<std::shared_ptr<TieredCache>> open_step_cache(const OpSpec& op, const Hash128& place,
                                                     const Description& description, size_t step);

}  // namespace forebay
