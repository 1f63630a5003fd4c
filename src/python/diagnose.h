#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Diagnosis and Remedy, and the function that makes them.
void bind_diagnose(nanobind::module_& module);

}  // namespace forebay::python
