#include "python/diagnose.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/replace_file.h"
#include "forebay/diagnosis.h"
#include "python/loader.h"
#include "python/raise.h"
#include "python/text.h"
#include "python/wait.h"
#include "study/report/pages.h"

namespace forebay::python {

namespace {

// None stands for "auto".
template <typename T>
nb::object or_none(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}

/// A loader of Python's, with the threads that run its functions; closed, with the interpreter lock, when the last one lets go.
std::shared_ptr<Loader> held(nb::object loader) {
  Loader& core = nb::cast<PyLoader&>(loader.attr("_core")).loader();
  auto owner = std::shared_ptr<nb::object>(new nb::object(std::move(loader)), [](nb::object* object) {
    const nb::gil_scoped_acquire locked;
    try {
      object->attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("closing a loader of diagnose()");
    }
    delete object;
  });
  return {std::move(owner), &core};
}

std::function<void()> step_of(const nb::object& step) {
  if (step.is_none()) return {};
  if (PyCallable_Check(step.ptr()) == 0) {
    const std::chrono::duration<double, std::milli> length(nb::cast<double>(step));
    return [length] { std::this_thread::sleep_for(length); };
  }
  return [step] {
    const nb::gil_scoped_acquire locked;
    step();
  };
}

Diagnosis run(const PyDescription& description, std::optional<int> threads, std::optional<int> requests,
              std::optional<uint64_t> memory, const nb::object& step, const nb::object& open, double budget_seconds,
              bool verify, bool can_use_processes) {
  DiagnoseOptions options;
  options.loader.threads = threads;
  options.loader.requests = requests;
  options.loader.memory = memory;
  options.step = step_of(step);
  options.budget_seconds = budget_seconds;
  options.verify = verify;
  options.can_use_processes = can_use_processes;
  options.open = [&](const Pipeline& pipeline, const LoaderOptions& with,
                     const ChangedSteps& steps) -> Result<std::shared_ptr<Loader>> {
    const nb::gil_scoped_acquire locked;
    return held(open(PyDescription{pipeline.description(), description.keep}, or_none(with.threads),
                     or_none(with.requests), or_none(with.memory), steps.places, steps.processes));
  };
  options.poll = [] {
    const nb::gil_scoped_acquire locked;
    check_signals();
  };
  const Pipeline pipeline = description.pipeline();
  Result<Diagnosis> found = [&] {
    const nb::gil_scoped_release unlocked;
    return diagnose(pipeline, options);
  }();
  return value_or_raise(std::move(found));
}

nb::list remedies_of(const Diagnosis& diagnosis) {
  nb::list list;
  for (const Remedy& remedy : diagnosis.remedies)
    list.append(nb::make_tuple(PyDescription{remedy.pipeline.description(), nb::none()}, remedy.steps.places,
                               remedy.steps.processes));
  return list;
}

}  // namespace

void bind_diagnose(nb::module_& module) {
  using nb::arg;
  nb::class_<Diagnosis>(module, "Diagnosis", "What diagnose() found; forebay.Diagnosis is its public face.")
      .def("to_text", [](const Diagnosis& self) { return python::to_text(forebay::to_text(self)); })
      .def("to_json", [](const Diagnosis& self) { return python::to_text(to_json(self)); })
      .def(
          "write_report",
          [](const Diagnosis& self, nb::str path) {
            const std::string file = from_text(path);
            Status written = replace_file(file, to_html(diagnosis_page(self, "pipeline")));
            if (!written.ok()) check(std::move(written).with_key(file));
          },
          arg("path"))
      .def("remedies", &remedies_of, "Of each change the description, and where the steps stand now.");
  module.def("diagnose", &run, arg("description"), nb::kw_only(), arg("threads").none(), arg("requests").none(),
             arg("memory").none(), arg("step").none(), arg("open"), arg("budget_seconds"), arg("verify"),
             arg("can_use_processes"));
}

}  // namespace forebay::python
