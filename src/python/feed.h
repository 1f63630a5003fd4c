#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// `PushedRecords`, through which a thread of Python's pushes records, and `Description.iterable`, the source that asks for one.
void bind_feed(nanobind::module_& module);

}  // namespace forebay::python
