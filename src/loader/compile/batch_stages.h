#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/batch_stage.h"
#include "pipeline/description.h"

namespace forebay {

/// Makes the stages of the steps that work on whole batches. Their random numbers depend on `seed`,
/// that of the loader, and not on the random steps before them.
std::vector<BatchStage> batch_stages(const Description& description, uint64_t seed);

}  // namespace forebay
