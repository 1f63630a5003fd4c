#pragma once

#include <chrono>

#include <nanobind/nanobind.h>

#include "forebay/diagnosis.h"

namespace forebay::python {

/// Loaders over changed pipelines, opened by Python: `open(description, threads, requests, memory, places, processes)` gives one, with its
/// functions where they stand now. `keep`: what the descriptions' arrays lie in. Both must live as long as what is given back.
OpenChanged opened_by(const nanobind::object& open, const nanobind::object& keep);
/// The same, but that an error of Forebay's is a status, once something was opened (`before`: by others): what is tried may fail, and the rest goes on.
OpenChanged failing_with_a_status(OpenChanged open, bool before = false);
/// Takes the interpreter's lock, and throws where the program was interrupted.
void look_at_signals();
/// Makes of each batch what Python's loops get, and lets go of the one before, as they do. Throws where the program was interrupted. To be made and
/// destroyed with the interpreter's lock.
HandOver as_a_loop_does();

}  // namespace forebay::python
