#pragma once

#include "capi/dlpack.h"
#include "forebay/c.h"
#include "forebay/tensor.h"

namespace forebay::capi {

/// Describes a tensor for C. The result points into the tensor and is valid as long as the tensor.
fb_array view_of(const Tensor& tensor);

/// Returns a DLPack tensor that shares ownership of the memory until its deleter is called.
DLManagedTensor* to_dlpack(Tensor tensor);
DLManagedTensorVersioned* to_dlpack_versioned(Tensor tensor);

}  // namespace forebay::capi
