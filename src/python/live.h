#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds what the live page of a loader is made of: its document, its figures, and its file in the
/// runtime folder.
void bind_live(nanobind::module_& module);

}  // namespace forebay::python
