#pragma once

#include <nanobind/nanobind.h>

#include "forebay/pipeline.h"
#include "pipeline/description.h"

namespace forebay::python {

namespace nb = nanobind;

/// A pipeline's description, and the Python arrays whose memory its source reads. The engine never
/// owns that memory, so every object that runs the description must hold a reference to `keep` for
/// as long.
struct PyDescription {
  Description value;
  nb::object keep = nb::none();

  Pipeline pipeline() const { return Pipeline(std::make_shared<const Description>(value)); }
};

void bind_description(nb::module_& module);

}  // namespace forebay::python
