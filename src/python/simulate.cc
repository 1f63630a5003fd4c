#include "python/simulate.h"

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "base/replace_file.h"
#include "forebay/simulation.h"
#include "python/description.h"
#include "python/raise.h"
#include "python/study.h"
#include "python/text.h"
#include "study/rate_text.h"
#include "study/report/pages.h"

namespace forebay::python {

namespace nb = nanobind;

namespace {

// `open` opens the pipeline; not used without one.
Simulation run_simulate(const nb::object& description, const nb::dict& given, const nb::object& open) {
  SimulationOptions with;
  const auto take = [&](const char* name, auto& out) {
    if (given.contains(name)) out = nb::cast<std::decay_t<decltype(out)>>(given[name]);
  };
  take("hosts", with.hosts);
  take("ranks_per_host", with.ranks_per_host);
  take("storage_rate", with.storage.bytes_per_second);
  take("storage_latency", with.storage.latency_seconds);
  take("storage_requests", with.storage.requests_per_second);
  take("storage_knee", with.storage.knee);
  take("link_rate", with.link_bytes_per_second);
  take("link_latency", with.link_latency_seconds);
  take("ram", with.ram_bytes);
  take("disk", with.disk_bytes);
  take("disk_rate", with.disk_bytes_per_second);
  take("prepare", with.prepare_per_second);
  take("train", with.train_per_second);
  take("samples", with.samples);
  take("spread", with.spread);
  take("seed", with.seed);
  take("epochs", with.epochs);
  // Required without a pipeline; they are optional here, and take() does not cast to optional.
  if (given.contains("sample_bytes")) with.sample_bytes = nb::cast<double>(given["sample_bytes"]);
  if (given.contains("batch_size")) with.batch_size = nb::cast<int64_t>(given["batch_size"]);
  with.poll = look_at_signals;
  // Copied from the Python object before the lock is released.
  std::optional<Pipeline> pipeline;
  if (!description.is_none()) {
    const auto& of = nb::cast<const PyDescription&>(description);
    pipeline = of.pipeline();
    with.open = opened_by(open, of.keep);
  }
  Result<Simulation> found = [&] {
    const nb::gil_scoped_release unlocked;
    return simulate(pipeline, with);
  }();
  return value_or_raise(std::move(found));
}

}  // namespace

void bind_simulate(nb::module_& module) {
  using nb::arg;
  nb::class_<Simulation>(module, "Simulation", "What simulate() found; forebay.Simulation is its public face.")
      .def("to_text", [](const Simulation& self) { return python::to_text(forebay::to_text(self)); })
      .def("to_json", [](const Simulation& self) { return python::to_text(to_json(self)); })
      .def(
          "write_report",
          [](const Simulation& self, nb::str path) {
            const std::string file = from_text(path);
            Status written = replace_file(file, to_html(simulation_page(self, "pipeline")));
            if (!written.ok()) check(std::move(written).with_key(file));
          },
          arg("path"));
  module.def("simulate", &run_simulate, arg("description").none(), arg("options"), arg("open").none());
  module.def("parse_rate", &parse_rate, arg("text"), "Bytes a second, or None.");
}

}  // namespace forebay::python
