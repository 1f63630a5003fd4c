#include "python/study.h"

#include <memory>
#include <optional>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "base/clock.h"
#include "python/batch.h"
#include "python/description.h"
#include "python/loader.h"
#include "python/raise.h"
#include "python/wait.h"

namespace forebay::python {

namespace nb = nanobind;

namespace {

// None means "auto".
template <typename T>
nb::object or_none(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}

/// A Python loader with the threads that run its functions. The last reference closes it, with the
/// interpreter lock held.
std::shared_ptr<Loader> held(nb::object loader) {
  // Never null: trials are opened without share=, so no server makes the batches.
  Loader* const core = nb::cast<PyLoader&>(loader.attr("_core")).own_loader();
  auto owner = std::shared_ptr<nb::object>(new nb::object(std::move(loader)), [](nb::object* object) {
    const nb::gil_scoped_acquire locked;
    try {
      object->attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("closing a loader that was tried");
    }
    delete object;
  });
  // The pointer is the C++ loader; the reference count is that of the Python object around it.
  return {std::move(owner), core};
}

}  // namespace

OpenChanged opened_by(const nb::object& open, const nb::object& keep) {
  // Captured by reference, because no Python reference may be counted without the lock. Both
  // outlive the function (study.h).
  return [&open, &keep](const Pipeline& pipeline, const LoaderOptions& with,
                        const ChangedSteps& steps) -> Result<std::shared_ptr<Loader>> {
    // Runs on the thread that called diagnose() or a similar function, which has released the lock.
    const nb::gil_scoped_acquire locked;
    const auto& [threads, requests, memory] = with.resources;
    return held(open(PyDescription{pipeline.description(), keep}, or_none(threads), or_none(requests), or_none(memory),
                     steps.places, steps.processes));
  };
}

OpenChanged failing_with_a_status(OpenChanged open, bool before) {
  return [open = std::move(open), opened = std::make_shared<bool>(before)](
             const Pipeline& pipeline, const LoaderOptions& with,
             const ChangedSteps& steps) -> Result<std::shared_ptr<Loader>> {
    try {
      Result<std::shared_ptr<Loader>> loader = open(pipeline, with, steps);
      *opened = *opened || loader.ok();
      return loader;
    } catch (nb::python_error& error) {
      const nb::gil_scoped_acquire locked;
      std::optional<Status> status = *opened ? status_of(error) : std::nullopt;
      if (status) return std::move(*status);
      throw;
    }
  };
}

HandOver as_a_loop_does() {
  return [last = std::make_shared<nb::object>()](Batch batch) {
    const int64_t begun_ns = monotonic_ns();
    const nb::gil_scoped_acquire locked;
    const std::chrono::nanoseconds waited(monotonic_ns() - begun_ns);
    check_signals();
    *last = nb::cast(new PyBatch(std::move(batch), nb::none()), nb::rv_policy::take_ownership);
    return waited;
  };
}

void look_at_signals() {
  const nb::gil_scoped_acquire locked;
  check_signals();
}

std::function<void()> polling(const nb::object& poll) {
  // By reference, because no Python reference may be counted without the lock.
  return [&poll] {
    const nb::gil_scoped_acquire locked;
    check_signals();
    if (!poll.is_none()) poll();
  };
}

}  // namespace forebay::python
