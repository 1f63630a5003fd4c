#include "python/description.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "loader/describe/check.h"
#include "loader/describe/file_hash.h"
#include "loader/describe/source_args.h"
#include "loader/describe/table_args.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "python/array.h"
#include "python/raise.h"
#include "python/text.h"
#include "python/wait.h"

namespace forebay::python {

namespace {

OpSpec spec(nb::str name, nb::dict args, nb::str label) {
  return {from_text(name), to_json(args), nullptr, from_text(label)};
}

PyDescription source(nb::str name, nb::dict args, nb::str label) {
  return {Description(spec(std::move(name), std::move(args), std::move(label)))};
}

bool is_file(nb::handle value) { return PyUnicode_Check(value.ptr()); }

Array read_array(nb::handle value) {
  Array field;
  if (is_file(value)) {
    field.path = from_text(value);
  } else {
    // The Python half marks text by a tuple of one element, because an array of characters is also
    // an array of numbers.
    field.text = PyTuple_Check(value.ptr());
    field.values = input_of(field.text ? nb::object(value[0]) : nb::borrow(value)).tensor;
  }
  return field;
}

// The same text as the C++ source prints: it is part of the fingerprint, which must not depend on
// the language.
std::string arrays_label(const std::map<std::string, Array>& fields) {
  std::string text;
  for (const auto& [name, array] : fields) {
    text += (text.empty() ? "" : ", ") + name + "=";
    text += array.path.empty() ? fmt::format("<{}{} {}>", array.text ? "text of " : "", dtype_name(array.values.dtype),
                                             array.values.shape.to_string())
                               : array.path;
  }
  return text;
}

PyDescription npy_arrays(const std::vector<std::string>& names, const nb::list& paths) {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < names.size(); ++i) arrays.push_back({names[i], from_text(paths[i])});
  return {Description(npy_arrays_step(arrays))};
}

PyDescription arrays(const std::vector<std::string>& names, nb::list values) {
  // A source of files only is a separate step, which can be sent to other processes and read
  // without Python.
  if (!names.empty() && std::all_of(values.begin(), values.end(), is_file)) return npy_arrays(names, values);
  auto fields = std::make_shared<std::vector<Array>>();
  std::map<std::string, Array> by_name;
  for (size_t i = 0; i < names.size(); ++i) {
    fields->push_back(read_array(values[i]));
    by_name.emplace(names[i], fields->back());
  }
  Json args = Json::object();
  args["fields"] = names;
  OpSpec op{"arrays", std::move(args), std::move(fields), arrays_label(by_name)};
  // A tuple protects the arrays that the engine reads from changes to the list.
  return {Description(std::move(op)), nb::tuple(values)};
}

// The Python arrays of all parts must live as long as the pipeline.
PyDescription of_parts(nb::str name, const nb::list& parts, nb::dict args) {
  OpSpec op = spec(std::move(name), std::move(args), nb::str(""));
  nb::list keep;
  for (nb::handle part : parts) {
    const auto& description = nb::cast<const PyDescription&>(part[1]);
    op.parts.push_back({from_text(part[0]), description.value});
    if (!description.keep.is_none()) keep.append(description.keep);
  }
  return {Description(std::move(op)), keep.size() > 0 ? nb::object(nb::tuple(keep)) : nb::none()};
}

// Releases the lock: streams may run Python code or wait for threads that do.
Result<OpSpec> take_streams(const std::vector<void*>& streams, Json args) {
  const nb::gil_scoped_release released;
  return arrow_streams_step(streams, std::move(args));
}

PyDescription arrow_streams(nb::list capsules, nb::dict args) {
  std::vector<void*> streams;
  for (nb::handle capsule : capsules) {
    // The name is checked, as the Arrow PyCapsule interface requires: other capsules hold other
    // structs.
    streams.push_back(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (streams.back() == nullptr) throw nb::python_error();
  }
  return {Description(value_or_raise(take_streams(streams, to_json(args))))};
}

nb::list steps(const PyDescription& self) {
  nb::list names;
  for (const OpSpec& op : self.value.steps()) names.append(to_text(op.name));
  return names;
}

// The steps for another process of the same user: (name, arguments as JSON, label, parts), where a
// part is (name, steps). A step that holds data in this process's memory cannot be sent.
nb::list portable_steps(const Description& description) {
  nb::list steps;
  for (const OpSpec& op : description.steps()) {
    nb::list parts;
    for (const PipelinePart& part : op.parts)
      parts.append(nb::make_tuple(to_text(part.name), portable_steps(part.pipeline)));
    if (op.attachment)
      raise(
          invalid_argument(fmt::format("{} holds {} in this process's memory, which other processes cannot read; "
                                       "write it to files (.npy, Arrow, Parquet), and name them",
                                       op.name, op.attachment_name)));
    try {
      steps.append(nb::make_tuple(to_text(op.name), to_text(op.args.dump()), to_text(op.attachment_name), parts));
    } catch (const Json::exception&) {
      raise(invalid_argument(fmt::format("{}: a name in it is not UTF-8, and cannot be sent", op.name)));
    }
  }
  return steps;
}

nb::list check_all(const PyDescription& self) {
  nb::list problems;
  // Touches no storage, so the lock is not released.
  for (const Problem& problem : self.pipeline().check()) {
    problems.append(nb::make_tuple(to_text(problem.op), to_text(problem.message), to_text(problem.remedy)));
  }
  return problems;
}

nb::list classes(const PyDescription& self) {
  // A copy of the pipeline: after an interrupt the listing continues without this object.
  auto work = [pipeline = self.pipeline()](std::stop_token stop) { return pipeline.classes(std::move(stop)); };
  nb::list names;
  for (const std::string& name : value_or_raise(wait_interruptibly(std::move(work)))) names.append(to_text(name));
  return names;
}

}  // namespace

void bind_description(nb::module_& module) {
  module.def(
      "file_hash",
      [](nb::str path) {
        const std::string name = from_text(path);
        std::string hash;
        {
          nb::gil_scoped_release unlocked;
          hash = file_hash(name);
        }
        return to_text(hash);
      },
      nb::arg("path"), nb::sig("def file_hash(path: str) -> str"),
      "xxh3-128 of a file; empty where it cannot be read.");
  module.attr("DEEPEST_PARTS") = kDeepestParts;
  nb::class_<PyDescription>(module, "Description",
                            "A source and the operators after it. Immutable; touches no storage.")
      .def_static("source", &source, nb::arg("name"), nb::arg("args"), nb::arg("label") = "",
                  nb::sig("def source(name: str, args: dict[str, typing.Any], label: str = '') -> Description"),
                  "A description of nothing but a source.")
      .def_static("arrays", &arrays, nb::arg("names"), nb::arg("values"),
                  nb::sig("def arrays(names: collections.abc.Sequence[str], values: list[typing.Any]) -> Description"),
                  "The source `arrays`: C-contiguous arrays, or paths of .npy files; texts as a tuple of one array, of "
                  "their characters.")
      .def_static("arrow_streams", &arrow_streams, nb::arg("capsules"), nb::arg("args"),
                  nb::sig("def arrow_streams(capsules: list[typing.Any], args: dict[str, typing.Any]) -> Description"),
                  "The source `arrow` over capsules called arrow_array_stream, which are read here.")
      .def_static(
          "of_parts", &of_parts, nb::arg("name"), nb::arg("parts"), nb::arg("args"),
          nb::sig("def of_parts(name: str, parts: list[tuple[str, Description]], args: dict[str, typing.Any]) -> "
                  "Description"),
          "A description of nothing but a source that is made of other pipelines.")
      .def(
          "append",
          [](const PyDescription& self, nb::str name, nb::dict args, nb::str label) {
            return PyDescription{self.value.append(spec(std::move(name), std::move(args), std::move(label))),
                                 self.keep};
          },
          nb::arg("name"), nb::arg("args"), nb::arg("label") = "",
          nb::sig("def append(self, name: str, args: dict[str, typing.Any], label: str = '') -> Description"),
          "This description with one more step.")
      .def("steps", &steps, nb::sig("def steps(self) -> list[str]"), "Names of the steps; the source is the first.")
      .def(
          "step_count", [](const PyDescription& self) { return self.value.step_count(); },
          nb::sig("def step_count(self) -> int"), "Number of steps, including those of all parts.")
      .def(
          "depth", [](const PyDescription& self) { return self.value.depth(); }, nb::sig("def depth(self) -> int"),
          "Levels of parts within parts; 0 without parts.")
      .def(
          "to_text", [](const PyDescription& self) { return to_text(self.value.to_string()); },
          nb::sig("def to_text(self) -> str"), "One line per step.")
      .def(
          "to_json", [](const PyDescription& self) { return to_text(value_or_raise(self.value.to_json())); },
          nb::sig("def to_json(self) -> str"))
      .def_static(
          "from_json",
          [](nb::str text) { return PyDescription{value_or_raise(Description::from_json(from_text(text)))}; },
          nb::arg("text"))
      .def(
          "portable_steps", [](const PyDescription& self) { return portable_steps(self.value); },
          nb::sig("def portable_steps(self) -> list[tuple[str, str, str, list[tuple[str, list[typing.Any]]]]]"),
          "(name, arguments as JSON, label, parts) of each step, for another process; a part is (name, its steps).\n"
          "InvalidArgument for what is in memory.")
      .def(
          "last_args",
          [](const PyDescription& self) {
            return to_text(self.value.steps().back().args.dump(-1, ' ', false, Json::error_handler_t::replace));
          },
          nb::sig("def last_args(self) -> str"), "Arguments of the last step, as JSON.")
      .def("check", &check_all, nb::sig("def check(self) -> list[tuple[str, str, str]]"),
           "(operator, message, remedy) of each problem.")
      .def("classes", &classes, nb::sig("def classes(self) -> list[str]"),
           "Class names in label order; reads the listing.")
      .def(
          "fingerprint",
          [](const PyDescription& self) { return to_text(self.value.fingerprint(catalog()).to_string()); },
          nb::sig("def fingerprint(self) -> str"));
}

}  // namespace forebay::python
