#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Binds `PushedRecords`, through which a Python thread pushes records, and `Description.iterable`,
/// the source that reads them.
void bind_feed(nanobind::module_& module);

}  // namespace forebay::python
