#include "python/profile.h"

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/replace_file.h"
#include "forebay/materialize.h"
#include "forebay/profile.h"
#include "python/description.h"
#include "python/raise.h"
#include "python/study.h"
#include "python/text.h"
#include "study/report/pages.h"

namespace forebay::python {

namespace nb = nanobind;

namespace {

using Weights = std::tuple<double, double, double>;

Profile run_profile(const PyDescription& description, std::optional<int> threads, std::optional<int> requests,
                    std::optional<uint64_t> memory, const nb::object& open, const nb::object& open_whole,
                    std::optional<int64_t> samples, double budget_seconds, const Weights& weights,
                    std::optional<std::string> files, double pace, const nb::object& poll) {
  ProfileOptions options;
  options.loader.resources.threads = threads;
  options.loader.resources.requests = requests;
  options.loader.resources.memory = memory;
  options.samples = samples;
  options.pace = pace;
  options.budget_seconds = budget_seconds;
  options.weights = {std::get<0>(weights), std::get<1>(weights), std::get<2>(weights)};
  options.open = failing_with_a_status(opened_by(open, description.keep));
  options.open_whole = failing_with_a_status(opened_by(open_whole, description.keep), /*before=*/true);
  options.poll = polling(poll);
  options.hand_over = as_a_loop_does();
  if (files) options.files = trying_files(std::move(*files));
  const Pipeline pipeline = description.pipeline();
  Result<Profile> found = [&] {
    const nb::gil_scoped_release unlocked;
    return profile(pipeline, options);
  }();
  return value_or_raise(std::move(found));
}

std::optional<Weights> named(const std::string& name) {
  const std::optional<ProfileWeights> weights = weights_named(name);
  if (!weights) return std::nullopt;
  return Weights{weights->preparation, weights->storage, weights->throughput};
}

Profile run_predict(const Profile& profile, std::optional<int> cores, std::optional<double> latency_seconds,
                    std::optional<double> bytes_per_second) {
  return value_or_raise(predict(profile, {cores, latency_seconds, bytes_per_second}));
}

// `of` is the profiled description; its arrays belong to the strategies' pipelines as well.
nb::list strategies_of(const Profile& profile, const PyDescription& of) {
  nb::list list;
  for (const Strategy& strategy : profile.strategies)
    list.append(nb::make_tuple(PyDescription{strategy.pipeline.description(), of.keep}, strategy.steps.places));
  return list;
}

}  // namespace

void bind_profile(nb::module_& module) {
  using nb::arg;
  nb::class_<Profile>(module, "Profile", "What profile() found; forebay.Profile is its public face.")
      .def("to_text", [](const Profile& self) { return python::to_text(forebay::to_text(self)); })
      .def("to_json", [](const Profile& self) { return python::to_text(to_json(self)); })
      .def("live_json",
           [](const Profile& self) { return python::to_text(to_live_json(profile_page(self, "pipeline"))); })
      .def(
          "write_report",
          [](const Profile& self, nb::str path) {
            const std::string file = from_text(path);
            Status written = replace_file(file, to_html(profile_page(self, "pipeline")));
            if (!written.ok()) check(std::move(written).with_key(file));
          },
          arg("path"))
      .def("predict", &run_predict, nb::kw_only(), arg("cores").none(), arg("latency_seconds").none(),
           arg("bytes_per_second").none())
      .def("strategies", &strategies_of, arg("of"), "Of each the description, and where the steps stand now.");
  module.def("weights_named", &named, arg("name"), "(preparation, storage, throughput), or None.");
  module.def("profile", &run_profile, arg("description"), nb::kw_only(), arg("threads").none(), arg("requests").none(),
             arg("memory").none(), arg("open"), arg("open_whole"), arg("samples").none(), arg("budget_seconds"),
             arg("weights"), arg("files").none(), arg("pace"), arg("poll").none());
}

}  // namespace forebay::python
