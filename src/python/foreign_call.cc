#include "python/foreign_call.h"

#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "forebay/string_list.h"
#include "python/array.h"
#include "python/text.h"
#include "serve/wire/portable_object.h"

namespace forebay::python {

void KeptObjects::drop(int64_t token) {
  Lock lock(mutex_);
  // Engine threads have no interpreter; the Python half collects the tokens with its next call.
  dropped_.push_back(token);
}

std::vector<int64_t> KeptObjects::take_dropped() {
  Lock lock(mutex_);
  return std::exchange(dropped_, {});
}

namespace {

// User code gets its own copy: the engine may change the record in place after the answer, while
// user code may keep and change its fields.
Tensor copy_of(const Tensor& tensor) {
  Tensor copy = Tensor::allocate(tensor.dtype, tensor.shape);
  if (tensor.nbytes() > 0) std::memcpy(copy.buffer.data(), tensor.buffer.data(), tensor.nbytes());
  return copy;
}

nb::list strings_of(const Value& value) {
  const StringList strings(value.bytes.span());
  nb::list list;
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::string_view string = strings.text(i);
    list.append(value.kind == FieldKind::kTextList ? to_text(string) : nb::bytes(string.data(), string.size()));
  }
  return list;
}

}  // namespace

nb::object to_python(const std::string& name, const Value& value, Tensor copy) {
  const std::string_view bytes{reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
  switch (value.kind) {
    case FieldKind::kText: return to_text(bytes);
    case FieldKind::kBytes: return nb::bytes(bytes.data(), bytes.size());
    case FieldKind::kTextList:
    case FieldKind::kBytesList: return strings_of(value);
    default: return to_numpy(std::move(copy), name);
  }
}

namespace {

nb::dict sample(const SampleCall& call) {
  const Record& record = call.record();
  std::vector<Tensor> copies(record.size());
  {
    // Samples may be pictures of megabytes, so other Python threads work meanwhile.
    nb::gil_scoped_release unlocked;
    for (size_t i = 0; i < record.size(); ++i) {
      if (record[i].kind == FieldKind::kTensor) copies[i] = copy_of(record[i].tensor);
    }
  }
  nb::dict fields;
  for (size_t i = 0; i < record.size(); ++i) {
    const std::string& name = call.schema()[i].name;
    fields[to_text(name)] = to_python(name, record[i], std::move(copies[i]));
  }
  return fields;
}

Buffer copy_of(std::string_view bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

FieldKind kind_of(const SampleCall& call, const std::string& name) {
  const auto before = call.schema().find(name);
  // A new name has no previous kind.
  return before ? call.record()[*before].kind : FieldKind::kAny;
}

// An empty list is a list of strings if the function received such a list under that name;
// otherwise NumPy makes it numbers.
Value value_of(nb::list items, FieldKind before) {
  const bool known = before == FieldKind::kTextList || before == FieldKind::kBytesList;
  if (items.size() == 0 && !known) return Value::of(Tensor::allocate(DType::kFloat64, Shape{0}));
  const bool text = items.size() > 0 ? PyUnicode_Check(nb::handle(items[0]).ptr()) : before == FieldKind::kTextList;
  std::vector<std::string> strings;
  for (nb::handle item : items) {
    if (text != static_cast<bool>(PyUnicode_Check(item.ptr())) || (!text && !PyBytes_Check(item.ptr()))) {
      PyErr_SetString(PyExc_TypeError, "a list of strings holds str alone, or bytes alone");
      throw nb::python_error();
    }
    if (text) {
      strings.push_back(from_text(item));
    } else {
      strings.emplace_back(PyBytes_AsString(item.ptr()), static_cast<size_t>(PyBytes_Size(item.ptr())));
    }
  }
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  Result<Tensor> run = StringList::pack(views);
  if (!run.ok()) {
    PyErr_SetString(PyExc_ValueError, run.status().message().c_str());
    throw nb::python_error();
  }
  return Value::of_list(text ? FieldKind::kTextList : FieldKind::kBytesList, std::move(run->buffer));
}

Value to_value(nb::handle object, FieldKind before) {
  if (PyList_Check(object.ptr())) return value_of(nb::borrow<nb::list>(object), before);
  if (PyUnicode_Check(object.ptr())) return Value::of_text(copy_of(from_text(object)));
  if (PyBytes_Check(object.ptr())) {
    return Value::of_bytes(
        copy_of(std::string_view{PyBytes_AsString(object.ptr()), static_cast<size_t>(PyBytes_Size(object.ptr()))}));
  }
  const Input input = input_of(object);
  const size_t axes = input.tensor.shape.rank();
  if (axes >= Shape::kMaxRank) {  // a batch adds one
    PyErr_Format(PyExc_TypeError, "a field has %zu axes; %zu are the most", axes, Shape::kMaxRank - 1);
    throw nb::python_error();
  }
  // The memory stays valid without the lock: `input` holds it until the copy is complete.
  nb::gil_scoped_release unlocked;
  return Value::of(copy_of(input.tensor));
}

// A picture that user code changed is still a picture, with the same layout.
Field describe(const SampleCall& call, std::string name, const Value& value) {
  Field field;
  field.kind = value.kind;
  if (value.kind == FieldKind::kTensor) {
    field.dtype = value.tensor.dtype;
    field.shape = value.tensor.shape;
    if (const auto before = call.schema().find(name); before && value.tensor.shape.rank() == 3) {
      field.image = call.schema()[*before].image;
      field.channels_first = call.schema()[*before].channels_first;
    }
  }
  field.name = std::move(name);
  return field;
}

void finish(SampleCall& call, const nb::dict& fields) {
  Schema schema;
  Record record;
  // In the dict's order, which becomes the schema's. An error leaves the call unanswered: the
  // Python half then answers with fail().
  for (auto [name, object] : fields) {
    const std::string field = from_text(name);
    Value value = to_value(object, kind_of(call, field));
    schema.push_back(describe(call, field, value));
    record.push_back(std::move(value));
  }
  // finish() may continue the waiting work at once, on this thread, under the engine's locks.
  nb::gil_scoped_release unlocked;
  call.finish(std::move(schema), std::move(record));
}

}  // namespace

void fail(ForeignCall& call, nb::str message, const PyHeldObject& exception, bool of_sample) {
  // kUnavailable: the worker caused it, not the sample, so no error policy skips the sample.
  Status status(of_sample ? Code::kUser : Code::kUnavailable, from_text(message));
  status = std::move(status).with_payload(exception.object);
  nb::gil_scoped_release unlocked;
  call.fail(std::move(status));
}

nb::tuple key_of(const ForeignCall& call) {
  const SampleKey& key = call.key();
  return nb::make_tuple(key.seed, key.epoch, key.id, key.occurrence);
}

void bind_foreign_call(nb::module_& module) {
  nb::class_<PyHeldObject>(module, "HeldObject", "An exception, or a batch of `.collate`, as calls take it.");
  module.def(
      "portable_object",
      [](const nb::bytes& bytes) { return PyHeldObject{portable_object({bytes.c_str(), bytes.size()})}; },
      nb::arg("bytes"), "In a server: an object for its clients, as a pickle.");
  nb::class_<PyKeptObjects>(module, "KeptObjects",
                            "Which exceptions and batches of the user's the engine has let go of.")
      .def(nb::init<>())
      .def(
          "hold",
          [](PyKeptObjects& self, int64_t token) {
            return PyHeldObject{std::make_shared<KeptObject>(token, self.shared)};
          },
          nb::arg("token"), "The object that stays in Python under `token`, as calls take it.")
      .def(
          "take_dropped", [](PyKeptObjects& self) { return self.shared->take_dropped(); },
          "Tokens dropped since the last call.");

  nb::class_<SampleCall>(module, "SampleCall", "A call for one sample that a Python thread has to make for the engine.")
      .def_prop_ro("step", &SampleCall::step, "Index of the step whose function is meant; 0 is the source.")
      .def_prop_ro(
          "key", [](const SampleCall& call) { return key_of(call); },
          nb::sig("def key(self) -> tuple[int, int, int, int]"), "(seed, epoch, id, occurrence).")
      .def_prop_ro("random_index", &SampleCall::random_index, "Place among the random operators.")
      .def_prop_ro("sample", &SampleCall::sample, "Id of the sample.")
      .def_prop_ro("item", &SampleCall::item, "Index of the sample in the user's data set, which is to give it.")
      .def_prop_ro(
          "name", [](const SampleCall& call) { return to_text(call.sample_name()); }, nb::sig("def name(self) -> str"),
          "What messages call the sample.")
      .def_prop_ro(
          "place",
          [](const SampleCall& call) {
            return to_text(fmt::format("sample {}: {}", call.key().id, call.sample_name()));
          },
          nb::sig("def place(self) -> str"), "What notes of exceptions call the sample.")
      .def("input", &sample, nb::sig("def input(self) -> dict[str, object]"),
           "Copies of the fields: arrays, str, bytes, and lists of str or bytes.")
      .def("finish", &finish, nb::arg("fields"),
           "Answers with fields: C-contiguous arrays, str, bytes, or lists of str or of bytes. They are copied.")
      .def(
          "fail",
          [](SampleCall& call, nb::str message, const PyHeldObject& exception, bool of_sample) {
            fail(call, std::move(message), exception, of_sample);
          },
          nb::arg("message"), nb::arg("exception"), nb::arg("of_sample") = true,
          "Answers with an exception. `of_sample`: it says something about the sample, so the error policy applies.");
}

}  // namespace forebay::python
