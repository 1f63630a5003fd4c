#pragma once

#include <vector>

#include "forebay/loader.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// Describes the fields of a plan's batches, as far as they are known before the first batch.
std::vector<BatchFieldDescription> describe_batch_fields(const ExecutionPlan& plan);

}  // namespace forebay
