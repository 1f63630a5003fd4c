#pragma once

#include "pipeline/operator.h"

namespace forebay {

/// Definitions of `map_batch` and `collate`, whose functions get whole batches. They leave the
/// schema unchanged, which is that of samples.
OpDef map_batch_op();
OpDef collate_op();

}  // namespace forebay
