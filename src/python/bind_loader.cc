#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/batch.h"
#include "python/loader.h"
#include "python/raise.h"
#include "python/text.h"
#include "runtime/lent_blocks.h"

namespace forebay::python {

namespace {

OnError on_error_of(const std::string& name) {
  if (name == "raise") return OnError::kRaise;
  if (name == "skip") return OnError::kSkip;
  if (name == "replace") return OnError::kReplace;
  raise(invalid_argument("on_error is '" + name + "'; it can be 'raise', 'skip' or 'replace'"));
}

ShardBy shard_by_of(const std::string& name) {
  if (name == "auto") return ShardBy::kAuto;
  if (name == "count") return ShardBy::kCount;
  if (name == "locality") return ShardBy::kLocality;
  raise(invalid_argument("shard_by is '" + name + "'; it can be 'auto', 'count' or 'locality'"));
}

std::optional<ErrorLimit> error_limit_of(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  if (PyFloat_Check(value.ptr())) return ErrorLimit(PyFloat_AsDouble(value.ptr()));
  return ErrorLimit(nb::cast<int64_t>(value));
}

std::string kind_name(std::optional<BatchField::Kind> kind) {
  if (!kind) return "";
  switch (*kind) {
    case BatchField::Kind::kDense: return "dense";
    case BatchField::Kind::kRagged: return "ragged";
    case BatchField::Kind::kBytes: return "bytes";
    case BatchField::Kind::kText: return "text";
    case BatchField::Kind::kBytesList: return "bytes_list";
    case BatchField::Kind::kTextList: return "text_list";
  }
  return "";
}

std::string type_name(std::optional<DType> dtype) { return dtype ? std::string(dtype_name(*dtype)) : ""; }

/// A Python object that any thread may drop: the deleter takes the interpreter lock.
std::shared_ptr<nb::object> kept(const nb::object& object) {
  return std::shared_ptr<nb::object>(new nb::object(object), [](nb::object* dropped) {
    const nb::gil_scoped_acquire locked;
    delete dropped;
  });
}

/// LentBlocks as Python sees it. Engine threads share the blocks and not this object, so that none
/// of them counts Python references.
struct PyLentBlocks {
  std::shared_ptr<LentBlocks> blocks = std::make_shared<LentBlocks>();
};

/// `meet` maps (card, rank, world size) to (cards, code, message), on any thread. None means that
/// there is none.
decltype(PeerOptions::gather) gather_by(const nb::object& meet) {
  if (meet.is_none()) return {};
  // Options are copied and dropped on threads without the interpreter lock.
  return [meeting = kept(meet)](const std::string& card, int rank, int world_size) -> Result<std::vector<std::string>> {
    // The loader is opened without the lock, usually on its own thread (wait_interruptibly()).
    const nb::gil_scoped_acquire locked;
    try {
      auto [cards, code, message] =
          nb::cast<std::tuple<std::vector<std::string>, std::string, std::string>>((*meeting)(card, rank, world_size));
      if (code.empty()) return cards;
      // All other errors are transient: ranks that have not arrived yet, or a store that does not
      // answer.
      return code == "InvalidArgument" ? invalid_argument(message) : unavailable(message);
      // No exception may leave: the C++ callers know nothing of Python's exceptions.
    } catch (const std::exception& error) {
      return unavailable(error.what());
    }
  };
}

PortableCode code_of(const nb::object& code) {
  if (code.is_none()) return {};
  auto [source, pipeline, functions] = nb::cast<std::tuple<std::string, std::string, std::vector<std::string>>>(code);
  return {std::move(source), std::move(pipeline), std::move(functions)};
}

/// Asks the loader without the interpreter lock, because a server may have to answer or be
/// restarted; other Python threads continue meanwhile.
template <typename Question>
auto ask_without_lock(PyLoader& self, Question question) {
  const BatchLoader& target = self.loader();
  const nb::gil_scoped_release unlocked;
  return question(target);
}

void open(PyLoader* self, const PyDescription& description, uint64_t seed, std::optional<int64_t> epochs,
          std::optional<int64_t> steps_per_epoch, std::string journal, std::string rehearsal, std::optional<int> rank,
          std::optional<int> world_size, std::optional<int> threads, std::optional<int> requests,
          std::optional<uint64_t> memory, const std::string& on_error, nb::object max_errors,
          std::map<std::string, std::string> storage_options, const std::string& shard_by, std::optional<int> hosts,
          std::optional<int> local_ranks, std::vector<std::string> peers, std::string token,
          std::optional<uint64_t> generation, const nb::object& meet, std::optional<std::string> share, int together,
          std::vector<std::string> program, const nb::object& code, bool restart, const PyLentBlocks* batch_memory,
          nb::object convert) {
  LoaderOptions options;
  options.seed = seed;
  options.epochs = epochs;
  options.restart = restart;
  options.stream.steps_per_epoch = steps_per_epoch;
  options.stream.journal = std::move(journal);
  options.rehearsal = std::move(rehearsal);
  options.job.rank = rank;
  options.job.world_size = world_size;
  options.resources.threads = threads;
  options.resources.requests = requests;
  options.resources.memory = memory;
  options.errors.on_error = on_error_of(on_error);
  options.errors.max_errors = error_limit_of(max_errors);
  options.storage_options = std::move(storage_options);
  options.job.shard_by = shard_by_of(shard_by);
  options.job.hosts = hosts;
  options.job.local_ranks = local_ranks;
  if (batch_memory != nullptr) options.batch_memory = batch_memory->blocks;
  options.log_warnings = false;  // Python's own warnings report them
  options.job.peers = {std::move(peers), std::move(token), generation, gather_by(meet)};
  std::optional<ShareOptions> with;
  if (share) with = ShareOptions{std::move(*share), together, std::move(program), code_of(code)};
  // nanobind's way to construct with a function: the memory is allocated but holds no object yet.
  new (self) PyLoader(description, std::move(options), std::move(with), std::move(convert));
}

// A digest is of samples, so each row has to be one of them.
const Batch& batch_of_samples(const PyBatch& batch) {
  const Batch& of = batch.batch();
  if (of.made_rows)
    raise(invalid_argument(fmt::format(
        "digest: .map_batch() made {} rows of {} samples, and a digest is of samples; take the step out for it",
        of.size(), of.ids.size())));
  return of;
}

}  // namespace

static void bind_lent_blocks(nb::module_& module) {
  using nb::arg;
  nb::class_<PyLentBlocks>(module, "LentBlocks", "Memory of batches that a framework owns (src/runtime/lent_blocks.h).")
      .def(nb::init<>())
      .def(
          "lend",
          [](PyLentBlocks& self, uintptr_t address, size_t bytes, const nb::object& owner) {
            return self.blocks->lend(reinterpret_cast<uint8_t*>(address), bytes, kept(owner));
          },
          arg("address"), arg("bytes"), arg("owner"),
          "Lends a block, which `owner` keeps alive. False if it is not aligned to 64 bytes.")
      .def(
          "hand_over",
          [](PyLentBlocks& self, uintptr_t address) -> nb::object {
            const LentBlocks::Owner owner = self.blocks->hand_over(reinterpret_cast<const uint8_t*>(address));
            return owner ? *static_cast<const nb::object*>(owner.get()) : nb::none();
          },
          arg("address"), nb::sig("def hand_over(self, address: int) -> typing.Any"),
          "The owner of the block at this address, which the engine then never fills again; None if none was lent.")
      .def(
          "exchange", [](PyLentBlocks& self) { return self.blocks->exchange().wanted; },
          nb::sig("def exchange(self) -> list[int]"), "Drops blocks that batches had, and returns the sizes to lend.");
}

void bind_loader(nb::module_& module) {
  using nb::arg;
  bind_lent_blocks(module);
  nb::class_<PyLoader>(module, "Loader", "A running loader; forebay.Loader is its public face.")
      .def("__init__", &open, arg("description"), nb::kw_only(), arg("seed"), arg("epochs").none(),
           arg("steps_per_epoch") = nb::none(), arg("journal") = "", arg("rehearsal") = "", arg("rank").none(),
           arg("world_size").none(), arg("threads").none(), arg("requests").none(), arg("memory").none(),
           arg("on_error"), arg("max_errors").none(), arg("storage_options"), arg("shard_by") = "auto",
           arg("hosts") = nb::none(), arg("local_ranks") = nb::none(), arg("peers"), arg("token"),
           arg("generation").none(), arg("meet").none(), arg("share").none() = nb::none(), arg("together") = 0,
           arg("program") = std::vector<std::string>(), arg("code").none() = nb::none(), arg("restart") = false,
           arg("batch_memory").none() = nb::none(), arg("convert").none())
      .def("prepare", &PyLoader::prepare, "Runs the filters, once.")
      .def("begin_iteration", &PyLoader::begin_iteration, "A new `for` begins.")
      .def("next", &PyLoader::next, nb::sig("def next(self) -> Batch[typing.Any] | None"),
           "A batch, or None at the end of an epoch.")
      .def("take_call", &PyLoader::take_call, arg("timeout_s"),
           nb::sig("def take_call(self, timeout_s: float) -> SampleCall | BatchCall | None"),
           "A call for a Python thread to make; None after the timeout, or once closed.")
      .def("batches_per_epoch", &PyLoader::batches_per_epoch)
      .def("size", [](PyLoader& self) { return self.loader().size(); })
      .def(
          "row_groups",
          [](PyLoader& self) { return ask_without_lock(self, [](const BatchLoader& of) { return of.row_groups(); }); },
          nb::sig("def row_groups(self) -> list[int]"))
      .def(
          "classes",
          [](PyLoader& self) {
            nb::list names;
            const auto found = ask_without_lock(self, [](const BatchLoader& of) { return of.classes(); });
            for (const std::string& name : found) names.append(to_text(name));
            return names;
          },
          nb::sig("def classes(self) -> list[str]"))
      .def(
          "source_fields",
          [](PyLoader& self) {
            nb::list fields;
            const auto found = ask_without_lock(self, [](const BatchLoader& of) { return of.source_fields(); });
            for (const FieldDescription& field : found)
              fields.append(nb::make_tuple(to_text(field.name), field.type, field.shape, field.time, field.of_folder,
                                           field.is_mask));
            return fields;
          },
          nb::sig("def source_fields(self) -> list[tuple[str, str, list[int], str, bool, bool]]"))
      .def(
          "batch_fields",
          [](PyLoader& self) {
            nb::list fields;
            // A client of a server learns the fields from batches only.
            Loader* const own = self.own_loader();
            if (own == nullptr)
              raise(invalid_argument(
                  "what batches will have is not known before the first one with share=; leave it out here"));
            for (const BatchFieldDescription& field : own->batch_fields())
              fields.append(nb::make_tuple(to_text(field.name), kind_name(field.kind), type_name(field.dtype),
                                           std::vector<int64_t>(field.row.begin(), field.row.end())));
            return fields;
          },
          nb::sig("def batch_fields(self) -> list[tuple[str, str, str, list[int]]]"),
          "(name, kind, dtype, shape of a row) of what batches will have; \"\" where it is not known before the first.")
      .def("opened", &PyLoader::opened, "The source alone, as this loader opened it.")
      .def("epoch", &PyLoader::epoch)
      .def("set_epoch", &PyLoader::set_epoch, arg("epoch"))
      .def("finished",
           [](PyLoader& self) { return ask_without_lock(self, [](const BatchLoader& of) { return of.finished(); }); })
      .def("rank", [](PyLoader& self) { return self.loader().rank(); })
      .def("world_size", [](PyLoader& self) { return self.loader().world_size(); })
      .def("fingerprint", [](PyLoader& self) { return self.loader().fingerprint(); })
      .def("shard_assignment",
           [](PyLoader& self) { return self.own_loader() == nullptr ? "" : self.own_loader()->shard_assignment(); })
      .def("state", &PyLoader::state, nb::sig("def state(self) -> str"))
      .def("load_state", &PyLoader::load_state, arg("json"), arg("strict"))
      .def("load_state_of_changed_parts", &PyLoader::load_state_of_changed_parts, arg("json"), arg("strict"))
      .def("set_weights", &PyLoader::set_weights, arg("weights"))
      .def("set_sampling", &PyLoader::set_sampling, arg("weights"), arg("version"), arg("part"))
      .def("journal", &PyLoader::journal, arg("path"))
      .def("report", &PyLoader::report)
      .def("write_report", &PyLoader::write_report, nb::arg("path"))
      .def("begin_trace", &PyLoader::begin_trace, arg("path"), arg("most_bytes"))
      .def("end_trace", &PyLoader::end_trace)
      .def("stats", &PyLoader::stats, nb::sig("def stats(self) -> dict[str, object]"))
      .def("limit", &PyLoader::limit, nb::sig("def limit(self) -> tuple[str, float]"),
           "(limit, share of the time that the consumer waited for it) since the last call.")
      .def("errors", &PyLoader::errors, nb::sig("def errors(self) -> list[dict[str, object]]"))
      .def("warnings", &PyLoader::warnings, nb::sig("def warnings(self) -> list[dict[str, object]]"))
      .def("close", &PyLoader::close)
      .def_prop_ro("closed", &PyLoader::closed);

  nb::class_<EpochDigest>(
      module, "EpochDigest",
      "xxh3-128 over (id, then the bytes of each field, fields by name), sample by sample, padding left\n"
      "out. Wants the steps in order.")
      .def(nb::init<>())
      .def(
          "add",
          [](EpochDigest& self, const PyBatch& batch) {
            const Batch& samples = batch_of_samples(batch);
            nb::gil_scoped_release unlocked;
            self.add(samples);
          },
          arg("batch"))
      .def(
          "add_step",
          [](EpochDigest& self, const std::vector<const PyBatch*>& batches) {
            std::vector<const Batch*> step;
            for (const PyBatch* batch : batches) step.push_back(&batch_of_samples(*batch));
            // Hashing takes long, so the lock is released. The batches stay alive as arguments of
            // this call.
            nb::gil_scoped_release unlocked;
            self.add(step);
          },
          arg("batches"), "The batches of one step, one of each rank.")
      .def("hexdigest", &EpochDigest::to_string, "32 hexadecimal digits.")
      .def_prop_ro("samples", &EpochDigest::samples);
}

}  // namespace forebay::python
