#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds Diagnosis, Remedy and the function that creates them.
void bind_diagnose(nanobind::module_& module);

}  // namespace forebay::python
