#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds materialize() and its results.
void bind_materialize(nanobind::module_& module);

}  // namespace forebay::python
