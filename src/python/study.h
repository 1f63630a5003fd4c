#pragma once

#include <chrono>
#include <functional>

#include <nanobind/nanobind.h>

#include "forebay/diagnosis.h"

namespace forebay::python {

/// Returns a function that opens loaders over changed pipelines by calling Python:
/// `open(description, threads, requests, memory, places, processes)` returns a loader with the
/// user's functions at their new places. `keep` holds the arrays of the descriptions. Both must
/// outlive the returned function.
OpenChanged opened_by(const nanobind::object& open, const nanobind::object& keep);
/// Wraps `open` so that an error of Forebay becomes a status once a loader has been opened
/// (`before`: one already has). Such a trial may fail while the others continue.
OpenChanged failing_with_a_status(OpenChanged open, bool before = false);
/// Takes the interpreter lock and throws if the program was interrupted.
void look_at_signals();
/// Returns a function that does the same, and throws what the Python function `poll` raised. `poll`
/// may be None, and must outlive the result.
std::function<void()> polling(const nanobind::object& poll);
/// Converts each batch to the object that Python's loops get, and drops the previous one, as they
/// do. Throws if the program was interrupted. Create and destroy the result with the interpreter
/// lock held.
HandOver as_a_loop_does();

}  // namespace forebay::python
