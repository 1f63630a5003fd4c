#include "python/batch.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/array.h"
#include "python/foreign_call.h"
#include "python/text.h"
#include "serve/wire/portable_object.h"

namespace forebay::python {

namespace {

std::string joined_names(const Batch& batch) {
  std::string text;
  for (const BatchField& field : batch.fields) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", field.name);
  return text;
}

// KeyError, as for a dict: `in`, get() of libraries and except clauses rely on the type.
[[noreturn]] void raise_no_field(const Batch& batch, const std::string& name) {
  const std::string text = fmt::format("no field '{}' in this batch; it has {}", name, joined_names(batch));
  PyErr_SetObject(PyExc_KeyError, to_text(text).ptr());
  throw nb::python_error();
}

nb::object int64_array(const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(DType::kInt64, {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(tensor.buffer.data(), values.data(), values.size() * sizeof(int64_t));
  return to_numpy(std::move(tensor), "");
}

nb::object string_of(std::span<const uint8_t> bytes, bool text) {
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  if (text) return to_text({data, bytes.size()});
  return nb::bytes(data, bytes.size());
}

nb::object strings(const BatchField& field, int64_t rows) {
  nb::list list;
  for (int64_t i = 0; i < rows; ++i) list.append(string_of(field.row(i), field.kind == BatchField::Kind::kText));
  return list;
}

nb::object string_lists(const BatchField& field, int64_t rows) {
  const auto* offsets = field.offsets.data<int64_t>();
  nb::list lists;
  for (int64_t i = 0; i < rows; ++i) {
    nb::list list;
    for (int64_t s = offsets[i]; s < offsets[i + 1]; ++s)
      list.append(string_of(field.string(s), field.kind == BatchField::Kind::kTextList));
    lists.append(std::move(list));
  }
  return lists;
}

std::string describe(const BatchField& field) {
  switch (field.kind) {
    case BatchField::Kind::kDense:
      return fmt::format("{} {}", dtype_name(field.values.dtype), field.values.shape.to_string());
    case BatchField::Kind::kRagged: return fmt::format("ragged {}", dtype_name(field.values.dtype));
    case BatchField::Kind::kBytes: return "bytes";
    case BatchField::Kind::kText: return "str";
    case BatchField::Kind::kBytesList: return "list[bytes]";
    case BatchField::Kind::kTextList: return "list[str]";
  }
  return {};
}

// Returns the array that is stored there, or stores one of these values.
nb::object made_once(nb::object& stored, const std::vector<int64_t>& values) {
  if (!stored.is_valid()) {
    nb::object made = int64_array(values);
    // Python code that makes the array may let another thread in, which then was first.
    if (!stored.is_valid()) stored = std::move(made);
  }
  return stored;
}

size_t bytes_of(const BatchField& field) {
  size_t bytes = field.values.nbytes();
  if (field.kind != BatchField::Kind::kDense) bytes += field.offsets.nbytes();
  if (field.string_list()) bytes += field.string_offsets.nbytes();
  return bytes;
}

}  // namespace

PyBatch::PyBatch(Batch batch, nb::object convert, bool read_only)
    : batch_(std::move(batch)), convert_array_(std::move(convert)), read_only_(read_only),
      cached_fields_(batch_.fields.size()) {}

nb::object PyBatch::to_array(const std::string& field, Tensor tensor) const {
  // The results of `convert` have no read-only flag; the user must not write to them. Some NumPy
  // versions do not export read-only arrays by DLPack.
  if (read_only_ && convert_array_.is_none()) return to_read_only_numpy(std::move(tensor), field);
  if (convert_array_.is_none()) return to_numpy(std::move(tensor), field);
  // NumPy can represent only its own types; DLPack supports bfloat16.
  return convert_array_(tensor.dtype == DType::kBfloat16 ? to_dlpack(std::move(tensor))
                                                         : to_numpy(std::move(tensor), field));
}

nb::object PyBatch::to_python(const BatchField& field) const {
  switch (field.kind) {
    case BatchField::Kind::kDense: return to_array(field.name, field.values);
    case BatchField::Kind::kRagged:
      return nb::make_tuple(to_array(field.name, field.values), to_array(field.name, field.offsets));
    case BatchField::Kind::kBytesList:
    case BatchField::Kind::kTextList: return string_lists(field, batch_.size());
    default: return strings(field, batch_.size());
  }
}

nb::tuple PyBatch::buffers(const std::string& name) const {
  const BatchField* field = batch_.find(name);
  if (field == nullptr) raise_no_field(batch_, name);
  if (field->kind == BatchField::Kind::kDense) return nb::make_tuple(to_array(name, field->values));
  if (!field->string_list()) return nb::make_tuple(to_array(name, field->values), to_array(name, field->offsets));
  return nb::make_tuple(to_array(name, field->values), to_array(name, field->offsets),
                        to_array(name, field->string_offsets));
}

nb::object PyBatch::field(const std::string& name) {
  for (size_t i = 0; i < batch_.fields.size(); ++i) {
    if (batch_.fields[i].name != name) continue;
    // Cached, so that `batch["x"] is batch["x"]` and lists of texts are built once.
    if (!cached_fields_[i].is_valid()) {
      nb::object made = to_python(batch_.fields[i]);
      // Python code that to_python() runs may let another thread in, which then was first.
      if (!cached_fields_[i].is_valid()) cached_fields_[i] = std::move(made);
    }
    return cached_fields_[i];
  }
  raise_no_field(batch_, name);
}

nb::list PyBatch::descriptions() const {
  nb::list list;
  for (const BatchField& field : batch_.fields) {
    list.append(nb::make_tuple(to_text(field.name), describe(field), bytes_of(field)));
  }
  return list;
}

nb::object PyBatch::object() const {
  if (!batch_.object) return nb::none();
  // Batches of a server are read-only, and their objects portable.
  if (read_only_) return to_numpy(static_cast<const PortableObject*>(batch_.object.get())->bytes, "object");
  return nb::cast(static_cast<const KeptObject*>(batch_.object.get())->token);
}

nb::object PyBatch::ids() { return made_once(ids_, batch_.ids); }

nb::object PyBatch::parts() {
  if (!batch_.part_names) return nb::none();
  return made_once(parts_, {batch_.parts.begin(), batch_.parts.end()});
}

nb::list PyBatch::part_names() const {
  nb::list names;
  if (!batch_.part_names) return names;
  for (const std::string& name : *batch_.part_names) names.append(to_text(name));
  return names;
}

nb::object PyBatch::positions() { return made_once(positions_, batch_.positions); }

nb::list PyBatch::names() const {
  nb::list names;
  for (const BatchField& field : batch_.fields) names.append(to_text(field.name));
  return names;
}

nb::list PyBatch::items() {
  nb::list items;
  for (const BatchField& field : batch_.fields)
    items.append(nb::make_tuple(to_text(field.name), this->field(field.name)));
  return items;
}

std::string PyBatch::to_string() const {
  std::string text = fmt::format("Batch(epoch={}, step={}, rows={}", batch_.epoch, batch_.step, batch_.size());
  if (batch_.padding > 0) text += fmt::format(", padding={}", batch_.padding);
  for (const BatchField& field : batch_.fields) text += fmt::format(", {}: {}", field.name, describe(field));
  return text + ")";
}

void bind_batch(nb::module_& module) {
  nb::class_<PyBatch>(
      module, "Batch", nb::is_generic(), nb::sig("class Batch(typing.Generic[Array])"),
      "What one step of training gets on one rank: named fields of equal length.\n\n"
      "batch[name] is an array of shape (rows, ...) that shares the batch's memory and keeps it alive; for\n"
      "ragged fields a tuple (values, offsets) with rows + 1 offsets; for bytes and text a list, for lists of\n"
      "them a list of lists, built when first looked at. len(batch) is the number of rows; iterating gives the names "
      "of the fields.")
      .def("__getitem__", &PyBatch::field, nb::lock_self(), nb::arg("name"),
           nb::sig("def __getitem__(self, name: str) -> Array"))
      .def(
          "__contains__",
          [](const PyBatch& self, nb::handle name) {
            return PyUnicode_Check(name.ptr()) && self.batch().find(from_text(name)) != nullptr;
          },
          nb::arg("name").none(), nb::sig("def __contains__(self, name: object) -> bool"))
      .def("__len__", [](const PyBatch& self) { return self.batch().size(); })
      .def(
          "__iter__", [](const PyBatch& self) { return nb::iter(self.names()); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("keys", &PyBatch::names, nb::sig("def keys(self) -> list[str]"), "Names of the fields.")
      .def("items", &PyBatch::items, nb::lock_self(), nb::sig("def items(self) -> list[tuple[str, Array]]"),
           "(name, value) of each field.")
      .def("buffers", &PyBatch::buffers, nb::arg("name"), nb::sig("def buffers(self, name: str) -> tuple[Array, ...]"),
           "The arrays that a field lies in, sharing the batch's memory: (values,); for ragged fields, bytes and\n"
           "text (values, offsets), where values of bytes and text are uint8; for lists of bytes and of text\n"
           "(values, offsets, string_offsets): row i has the strings offsets[i] to offsets[i + 1], and string s\n"
           "the bytes string_offsets[s] to string_offsets[s + 1].")
      .def_prop_ro("ids", &PyBatch::ids, nb::lock_self(), nb::sig("def ids(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "int64 (rows,): the samples' ids in the data set, repeats included.")
      .def_prop_ro(
          "parts", &PyBatch::parts, nb::sig("def parts(self) -> numpy.typing.NDArray[numpy.int64] | None"),
          "int64 (rows,): the part that each row comes from, by number: the data set, of those of all parts and of\n"
          "their parts, depth first. None if there are no parts.")
      .def_prop_ro("part_names", &PyBatch::part_names, nb::sig("def part_names(self) -> list[str]"),
                   "Names of these parts, by number: \"web\", or \"web/en\" for a part of a part.")
      .def_prop_ro("positions", &PyBatch::positions, nb::lock_self(),
                   nb::sig("def positions(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "int64 (rows,): where the samples stand in the epoch's global order.")
      .def_prop_ro(
          "padding", [](const PyBatch& self) { return self.batch().padding; }, "How many rows at the end are repeats.")
      .def_prop_ro(
          "epoch", [](const PyBatch& self) { return self.batch().epoch; }, "The epoch that the batch belongs to.")
      .def_prop_ro(
          "step", [](const PyBatch& self) { return self.batch().step; }, "Number of the batch in its epoch, from 0.")
      .def_prop_ro("_object", &PyBatch::object, nb::sig("def _object(self) -> typing.Any"),
                   "Token, or pickle, of the object that a function of the user's made of the samples; None if the "
                   "batch has fields.")
      .def("_descriptions", &PyBatch::descriptions, nb::sig("def _descriptions(self) -> list[tuple[str, str, int]]"),
           "(name, type, bytes) of each field, as the notebook shows them.")
      .def(
          "_repr_html_", [](nb::handle self) { return nb::module_::import_("forebay._html").attr("batch_html")(self); },
          nb::sig("def _repr_html_(self) -> str"), "What a notebook shows.")
      .def(
          "__repr__", [](const PyBatch& self) { return to_text(self.to_string()); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace forebay::python
