#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds `serve`, a server of loaders whose pipelines have functions in Python, and `ServedLoader`,
/// one of those loaders as the threads see it that run its functions.
void bind_serving(nanobind::module_& module);

}  // namespace forebay::python
