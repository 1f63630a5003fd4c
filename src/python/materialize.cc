#include "python/materialize.h"

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "forebay/materialize.h"
#include "python/description.h"
#include "python/raise.h"
#include "python/study.h"
#include "python/text.h"

namespace forebay::python {

namespace nb = nanobind;

namespace {

nb::dict told(const MaterializeProgress& progress) {
  nb::dict dict;
  dict["samples_done"] = progress.samples_done;
  dict["samples"] = progress.samples;
  dict["shards_done"] = progress.shards_done;
  dict["shards"] = progress.shards;
  dict["bytes"] = progress.bytes;
  dict["seconds"] = progress.seconds;
  return dict;
}

nb::dict told(const Materialized& made, const PyDescription& description) {
  nb::dict dict;
  dict["cut"] = made.cut;
  dict["samples"] = made.samples;
  dict["shards"] = made.shards;
  dict["written"] = made.written;
  dict["reused"] = made.reused;
  dict["bytes"] = made.bytes;
  dict["seconds"] = made.seconds;
  dict["complete"] = made.complete;
  dict["description"] = nb::cast(PyDescription{made.pipeline.description(), description.keep});
  nb::list places;
  for (const size_t place : made.steps.places) places.append(place == SIZE_MAX ? nb::none() : nb::cast(place));
  dict["places"] = places;
  return dict;
}

nb::dict run_materialize(const PyDescription& description, const nb::str& folder, std::optional<int> threads,
                         std::optional<int> requests, std::optional<uint64_t> memory, const nb::object& open,
                         const nb::object& progress, const std::string& cut, const std::string& format,
                         const std::string& compression, std::optional<int> quality, std::optional<int64_t> limit,
                         bool update, std::optional<int64_t> shards, int64_t rank, int64_t world_size) {
  MaterializeOptions options;
  options.loader.threads = threads;
  options.loader.requests = requests;
  options.loader.memory = memory;
  options.cut = cut;
  options.format = format;
  options.compression = compression;
  options.quality = quality;
  options.limit = limit;
  options.update = update;
  options.shards = shards;
  options.rank = rank;
  options.world_size = world_size;
  options.open = opened_by(open, description.keep);
  options.poll = look_at_signals;
  if (!progress.is_none()) {
    options.progress = [&progress](const MaterializeProgress& now) {
      const nb::gil_scoped_acquire locked;
      progress(told(now));
    };
  }
  const Pipeline pipeline = description.pipeline();
  const std::string where = from_text(folder);
  Result<Materialized> made = [&] {
    const nb::gil_scoped_release unlocked;
    return materialize(pipeline, where, options);
  }();
  return told(value_or_raise(std::move(made)), description);
}

}  // namespace

void bind_materialize(nb::module_& module) {
  using nb::arg;
  module.def("materialize", &run_materialize, arg("description"), arg("folder"), nb::kw_only(), arg("threads").none(),
             arg("requests").none(), arg("memory").none(), arg("open"), arg("progress").none(), arg("cut"),
             arg("format"), arg("compression"), arg("quality").none(), arg("limit").none(), arg("update"),
             arg("shards").none(), arg("rank"), arg("world_size"));
}

}  // namespace forebay::python
