#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds Simulation and the function that creates it.
void bind_simulate(nanobind::module_& module);

}  // namespace forebay::python
