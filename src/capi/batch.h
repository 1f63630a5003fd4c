#pragma once

#include "forebay/batch.h"
#include "forebay/c.h"

namespace forebay::capi {

/// A handle that keeps the batch until fb_batch_free().
fb_batch* hold(Batch batch);

}  // namespace forebay::capi
