#include "python/diagnose.h"

#include <chrono>
#include <optional>
#include <thread>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/replace_file.h"
#include "forebay/diagnosis.h"
#include "python/description.h"
#include "python/raise.h"
#include "python/study.h"
#include "python/text.h"
#include "study/report/pages.h"

namespace forebay::python {

namespace {

std::function<void()> step_of(const nb::object& step) {
  if (step.is_none()) return {};
  if (PyCallable_Check(step.ptr()) == 0) {
    // A number stands for a training step of that many milliseconds that needs no Python.
    const std::chrono::duration<double, std::milli> length(nb::cast<double>(step));
    return [length] { std::this_thread::sleep_for(length); };
  }
  // By reference: the study copies this function without the lock and must not count a Python
  // reference.
  return [&step] {
    const nb::gil_scoped_acquire locked;
    step();
  };
}

Diagnosis run_diagnosis(const PyDescription& description, std::optional<int> threads, std::optional<int> requests,
                        std::optional<uint64_t> memory, const nb::object& step, const nb::object& open,
                        double budget_seconds, bool verify, bool can_use_processes, double pace,
                        const nb::object& poll) {
  DiagnoseOptions options;
  options.loader.resources.threads = threads;
  options.loader.resources.requests = requests;
  options.loader.resources.memory = memory;
  options.step = step_of(step);
  options.budget_seconds = budget_seconds;
  options.verify = verify;
  options.pace = pace;
  options.can_use_processes = can_use_processes;
  options.open = failing_with_a_status(opened_by(open, description.keep));
  options.poll = polling(poll);
  options.hand_over = as_a_loop_does();
  const Pipeline pipeline = description.pipeline();
  Result<Diagnosis> found = [&] {
    // The loaders run Python threads, which need the lock to proceed.
    const nb::gil_scoped_release unlocked;
    return diagnose(pipeline, options);
  }();
  return value_or_raise(std::move(found));
}

// `of` is the diagnosed description; its arrays belong to the remedies' pipelines as well.
nb::list remedies_of(const Diagnosis& diagnosis, const PyDescription& of) {
  nb::list list;
  for (const Remedy& remedy : diagnosis.remedies)
    list.append(nb::make_tuple(PyDescription{remedy.pipeline.description(), of.keep}, remedy.steps.places,
                               remedy.steps.processes));
  return list;
}

}  // namespace

void bind_diagnose(nb::module_& module) {
  using nb::arg;
  nb::class_<Diagnosis>(module, "Diagnosis", "What diagnose() found; forebay.Diagnosis is its public face.")
      .def("to_text", [](const Diagnosis& self) { return python::to_text(forebay::to_text(self)); })
      .def("to_json", [](const Diagnosis& self) { return python::to_text(to_json(self)); })
      .def("live_json",
           [](const Diagnosis& self) { return python::to_text(to_live_json(diagnosis_page(self, "pipeline"))); })
      .def(
          "write_report",
          [](const Diagnosis& self, nb::str path) {
            const std::string file = from_text(path);
            Status written = replace_file(file, to_html(diagnosis_page(self, "pipeline")));
            if (!written.ok()) check(std::move(written).with_key(file));
          },
          arg("path"))
      .def("remedies", &remedies_of, arg("of"), "Of each change the description, and where the steps stand now.");
  module.def("diagnose", &run_diagnosis, arg("description"), nb::kw_only(), arg("threads").none(),
             arg("requests").none(), arg("memory").none(), arg("step").none(), arg("open"), arg("budget_seconds"),
             arg("verify"), arg("can_use_processes"), arg("pace"), arg("poll").none());
}

}  // namespace forebay::python
