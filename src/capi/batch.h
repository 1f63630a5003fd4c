#pragma once

#include "forebay/batch.h"
#include "forebay/c.h"

namespace forebay::capi {

/// Returns a handle that owns the batch until fb_batch_free().
fb_batch* new_batch_handle(Batch batch);

}  // namespace forebay::capi
