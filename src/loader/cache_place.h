#pragma once

#include "base/hash.h"
#include "pipeline/description.h"

namespace forebay {

/// Of everything before step `step` that changes what is in samples: operators with all their arguments, and of the source what
/// changes the content of a sample, but not which samples there are.
Hash128 place_identity(const Description& description, size_t step);

}  // namespace forebay
