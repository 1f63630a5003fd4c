#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Simulation, and the function that makes it.
void bind_simulate(nanobind::module_& module);

}  // namespace forebay::python
