#pragma once

#include <vector>

#include "forebay/loader.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// What the batches of a plan have, as far as it is known before the first of them.
std::vector<BatchFieldDescription> describe_batch_fields(const ExecutionPlan& plan);

}  // namespace forebay
