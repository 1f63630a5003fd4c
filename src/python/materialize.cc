#include "python/materialize.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
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
  // SIZE_MAX marks a step whose result is in the files now.
  for (const size_t place : made.steps.places) places.append(place == SIZE_MAX ? nb::none() : nb::cast(place));
  dict["places"] = places;
  return dict;
}

/// The arguments that both ways of calling materialize() share.
struct Given {
  std::optional<int> threads, requests;
  std::optional<uint64_t> memory;
  std::map<std::string, std::string> url_options;
  std::string cut, format, compression;
  std::optional<int> quality;
  std::optional<int64_t> limit;
  bool restart_markers = false;
  bool update = false;
  std::optional<int64_t> shards;

  MaterializeOptions options(const nb::object& open, const nb::object& keep) const {
    MaterializeOptions options;
    options.loader.resources.threads = threads;
    options.loader.resources.requests = requests;
    options.loader.resources.memory = memory;
    options.url_options = url_options;
    options.cut = cut;
    options.format = format;
    options.compression = compression;
    options.quality = quality;
    options.limit = limit;
    options.restart_markers = restart_markers;
    options.update = update;
    options.shards = shards;
    options.open = opened_by(open, keep);
    options.poll = look_at_signals;
    return options;
  }
};

nb::dict run_materialize(const PyDescription& description, const nb::str& folder, std::optional<int> threads,
                         std::optional<int> requests, std::optional<uint64_t> memory,
                         std::map<std::string, std::string> url_options, const nb::object& open,
                         const nb::object& progress, const std::string& cut, const std::string& format,
                         const std::string& compression, std::optional<int> quality, std::optional<int64_t> limit,
                         bool restart_markers, bool update, std::optional<int64_t> shards, std::optional<int> rank,
                         std::optional<int> world_size) {
  const Given given{threads,     requests, memory, std::move(url_options), cut,    format,
                    compression, quality,  limit,  restart_markers,        update, shards};
  MaterializeOptions options = given.options(open, description.keep);
  options.rank = rank;
  options.world_size = world_size;
  if (!progress.is_none()) {
    // By reference: it is called until materialize() returns, and must not count a reference on the
    // way.
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
  // Python objects need the lock, which is held again here.
  return told(value_or_raise(std::move(made)), description);
}

template <typename Work>
auto without_lock(const Work& work) {
  const nb::gil_scoped_release unlocked;
  return work();
}

/// A Materializer and the arguments that its loaders are opened with.
class PyMaterializer {
 public:
  PyMaterializer(const PyDescription& description, const nb::str& folder, std::optional<int> threads,
                 std::optional<int> requests, std::optional<uint64_t> memory,
                 std::map<std::string, std::string> url_options, nb::object open, const std::string& cut,
                 const std::string& format, const std::string& compression, std::optional<int> quality,
                 std::optional<int64_t> limit, bool restart_markers, bool update, std::optional<int64_t> shards)
      : description_(description), open_(std::move(open)) {
    const Given given{threads,     requests, memory, std::move(url_options), cut,    format,
                      compression, quality,  limit,  restart_markers,        update, shards};
    const MaterializeOptions options = given.options(open_, description_.keep);
    const Pipeline pipeline = description_.pipeline();
    const std::string where = from_text(folder);
    work_ = value_or_raise(without_lock([&] { return Materializer::open(pipeline, where, options); }));
  }
  // The loaders that it closes need the interpreter lock.
  ~PyMaterializer() {
    const nb::gil_scoped_release unlocked;
    work_.reset();
  }
  PyMaterializer(const PyMaterializer&) = delete;
  PyMaterializer& operator=(const PyMaterializer&) = delete;

  int64_t shards() const { return work_->shards(); }
  std::vector<int64_t> left() const { return work_->left(); }
  int64_t samples(const std::vector<int64_t>& of) const { return work_->samples(of); }
  int64_t reused(const std::vector<int64_t>& of) const { return work_->reused(of); }
  void write(int64_t shard) {
    check(without_lock([&] { return work_->write(shard); }));
  }
  nb::dict end() {
    return told(value_or_raise(without_lock([&] { return work_->end(); })), description_);
  }

 private:
  const PyDescription description_;
  const nb::object open_;
  std::unique_ptr<Materializer> work_;
};

}  // namespace

void bind_materialize(nb::module_& module) {
  using nb::arg;
  module.def("materialize", &run_materialize, arg("description"), arg("folder"), nb::kw_only(), arg("threads").none(),
             arg("requests").none(), arg("memory").none(), arg("url_options"), arg("open"), arg("progress").none(),
             arg("cut"), arg("format"), arg("compression"), arg("quality").none(), arg("limit").none(),
             arg("restart_markers"), arg("update"), arg("shards").none(), arg("rank").none(), arg("world_size").none());
  nb::class_<PyMaterializer>(module, "Materializer", "The same in parts, for those who deal out the shards themselves.")
      .def(nb::init<const PyDescription&, const nb::str&, std::optional<int>, std::optional<int>,
                    std::optional<uint64_t>, std::map<std::string, std::string>, nb::object, const std::string&,
                    const std::string&, const std::string&, std::optional<int>, std::optional<int64_t>, bool, bool,
                    std::optional<int64_t>>(),
           arg("description"), arg("folder"), nb::kw_only(), arg("threads").none(), arg("requests").none(),
           arg("memory").none(), arg("url_options"), arg("open"), arg("cut"), arg("format"), arg("compression"),
           arg("quality").none(), arg("limit").none(), arg("restart_markers"), arg("update"), arg("shards").none())
      .def("shards", &PyMaterializer::shards)
      .def("left", &PyMaterializer::left)
      .def("samples", &PyMaterializer::samples, arg("of"))
      .def("reused", &PyMaterializer::reused, arg("of"))
      .def("write", &PyMaterializer::write, arg("shard"))
      .def("end", &PyMaterializer::end);
}

}  // namespace forebay::python
