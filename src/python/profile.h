#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Profile, and the function that makes it.
void bind_profile(nanobind::module_& module);

}  // namespace forebay::python
