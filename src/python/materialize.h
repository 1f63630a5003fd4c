#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// materialize(), and what it tells.
void bind_materialize(nanobind::module_& module);

}  // namespace forebay::python
