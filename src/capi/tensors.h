#pragma once

#include "capi/dlpack.h"
#include "forebay/c.h"
#include "forebay/tensor.h"

namespace forebay::capi {

/// The tensor as C sees it. Points into it: stays as long as the tensor does.
fb_array view_of(const Tensor& tensor);

/// A tensor of DLPack over the same memory, which keeps it until its deleter is called.
DLManagedTensor* to_dlpack(Tensor tensor);
DLManagedTensorVersioned* to_dlpack_versioned(Tensor tensor);

}  // namespace forebay::capi
