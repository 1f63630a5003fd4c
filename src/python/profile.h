#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds Profile and the function that creates it.
void bind_profile(nanobind::module_& module);

}  // namespace forebay::python
