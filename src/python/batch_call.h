#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "pipeline/foreign.h"

namespace forebay::python {

namespace nb = nanobind;

/// A call for a whole batch as Python sees it. `convert` makes the arrays of single samples those
/// of the loader's `output=`; None leaves them NumPy's.
struct PyBatchCall {
  std::shared_ptr<BatchCall> call;
  nb::object convert;
};

void bind_batch_call(nb::module_& module);

}  // namespace forebay::python
