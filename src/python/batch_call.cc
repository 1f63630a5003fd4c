#include "python/batch_call.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/array.h"
#include "python/batch.h"
#include "python/foreign_call.h"
#include "python/text.h"

namespace forebay::python {

namespace {

nb::dict fields_of_batch(const Batch& batch) {
  PyBatch shown(batch, nb::none());
  nb::dict fields;
  for (const BatchField& field : batch.fields) fields[to_text(field.name)] = shown.field(field.name);
  return fields;
}

nb::object field_of_sample(const std::string& name, const Value& value, const nb::object& convert) {
  if (value.kind != FieldKind::kTensor || convert.is_none()) return to_python(name, value, value.tensor);
  return convert(value.tensor.dtype == DType::kBfloat16 ? to_dlpack(value.tensor) : to_numpy(value.tensor, name));
}

nb::list samples_of(const std::vector<NamedValues>& samples, const nb::object& convert) {
  nb::list list;
  for (const NamedValues& sample : samples) {
    nb::dict fields;
    for (const auto& [name, value] : sample) fields[to_text(name)] = field_of_sample(name, value, convert);
    list.append(std::move(fields));
  }
  return list;
}

nb::object input_of_batch(const PyBatchCall& self) {
  const std::vector<NamedValues>* const samples = self.call->samples();
  return samples != nullptr ? nb::object(samples_of(*samples, self.convert))
                            : nb::object(fields_of_batch(self.call->batch()));
}

// The memory of a field that the function got, if the array lies in it. Functions often return most
// fields as they were.
Buffer shared_memory(const Batch& batch, const Tensor& array) {
  const uint8_t* const begin = array.buffer.data();
  for (const BatchField& field : batch.fields) {
    for (const Tensor* const of : {&field.values, &field.offsets}) {
      const Buffer& memory = of->buffer;
      if (begin >= memory.data() && begin + array.nbytes() <= memory.data() + memory.size())
        return memory.slice(static_cast<size_t>(begin - memory.data()), array.nbytes());
    }
  }
  return {};
}

Tensor tensor_of(const Batch& batch, nb::handle object) {
  const Input input = input_of(object);
  Tensor tensor;
  tensor.dtype = input.tensor.dtype;
  tensor.shape = input.tensor.shape;
  const size_t bytes = input.tensor.nbytes();
  if (bytes > 0) tensor.buffer = shared_memory(batch, input.tensor);
  if (tensor.buffer.owner()) return tensor;
  tensor.buffer = Buffer::allocate(bytes);
  // The memory stays valid without the lock: `input` holds it until the copy is complete.
  nb::gil_scoped_release unlocked;
  if (bytes > 0) std::memcpy(tensor.buffer.data(), input.tensor.buffer.data(), bytes);
  return tensor;
}

Tensor int64s(const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(DType::kInt64, Shape{static_cast<int64_t>(values.size())});
  std::memcpy(tensor.buffer.data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

// Strings end to end, and where each begins.
class Strings {
 public:
  void add(nb::handle string) {
    bytes_ += PyUnicode_Check(string.ptr())
                  ? from_text(string)
                  : std::string(PyBytes_AsString(string.ptr()), static_cast<size_t>(PyBytes_Size(string.ptr())));
    begins_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  int64_t count() const { return std::ssize(begins_) - 1; }
  Tensor values() const {
    Tensor values = Tensor::allocate(DType::kUint8, Shape{std::ssize(bytes_)});
    if (!bytes_.empty()) std::memcpy(values.buffer.data(), bytes_.data(), bytes_.size());
    return values;
  }
  Tensor offsets() const { return int64s(begins_); }

 private:
  std::string bytes_;
  std::vector<int64_t> begins_ = {0};
};

// The Python half has made sure that a list has strings, or lists of strings, of one type.
BatchField field_of_list(nb::list rows, bool text, bool nested) {
  BatchField field;
  Strings strings;
  std::vector<int64_t> offsets = {0};
  for (nb::handle row : rows) {
    if (!nested) {
      strings.add(row);
      continue;
    }
    for (nb::handle string : nb::borrow<nb::list>(row)) strings.add(string);
    offsets.push_back(strings.count());
  }
  field.values = strings.values();
  if (nested) {
    field.kind = text ? BatchField::Kind::kTextList : BatchField::Kind::kBytesList;
    field.offsets = int64s(offsets);
    field.string_offsets = strings.offsets();
  } else {
    field.kind = text ? BatchField::Kind::kText : BatchField::Kind::kBytes;
    field.offsets = strings.offsets();
  }
  return field;
}

// A list of no string, or of empty lists, does not say what it is of: a field that the function got
// under that name does.
BatchField field_of_list(nb::list rows, const BatchField* before) {
  using Kind = BatchField::Kind;
  for (nb::handle row : rows) {
    const bool nested = PyList_Check(row.ptr());
    if (nested && nb::len(row) == 0) continue;
    const nb::object first = nested ? nb::object(row[0]) : nb::borrow(row);
    return field_of_list(rows, PyUnicode_Check(first.ptr()), nested);
  }
  const Kind kind = before != nullptr ? before->kind : Kind::kText;
  const bool nested = nb::len(rows) > 0 || (before != nullptr && before->string_list());
  return field_of_list(rows, kind != Kind::kBytes && kind != Kind::kBytesList, nested);
}

BatchField field_of(const Batch& batch, const std::string& name, nb::handle object) {
  BatchField field;
  if (PyList_Check(object.ptr())) {
    field = field_of_list(nb::borrow<nb::list>(object), batch.find(name));
  } else if (PyTuple_Check(object.ptr())) {
    field.kind = BatchField::Kind::kRagged;
    field.values = tensor_of(batch, object[0]);
    field.offsets = tensor_of(batch, object[1]);
  } else {
    field.values = tensor_of(batch, object);
  }
  field.name = name;
  return field;
}

void finish_fields(PyBatchCall& self, const nb::dict& fields, int64_t rows) {
  // An error leaves the call unanswered: the Python half then answers with fail().
  std::vector<BatchField> made;
  for (auto [name, object] : fields) made.push_back(field_of(self.call->batch(), from_text(name), object));
  // finish() may continue the waiting work at once, on this thread, under the engine's locks.
  nb::gil_scoped_release unlocked;
  self.call->finish(std::move(made), rows);
}

void finish_object(PyBatchCall& self, const PyHeldObject& object) {
  nb::gil_scoped_release unlocked;
  self.call->finish(object.object);
}

nb::object place_of_batch(const PyBatchCall& self) {
  const Batch& batch = self.call->batch();
  std::string text = fmt::format("step {} of epoch {}", batch.step, batch.epoch);
  text += batch.ids.empty() ? ", which has no samples"
                            : fmt::format(", first sample {}: {}", self.call->sample(), self.call->sample_name());
  return to_text(text);
}

}  // namespace

void bind_batch_call(nb::module_& module) {
  nb::class_<PyBatchCall>(module, "BatchCall",
                          "A call for a whole batch that a Python thread has to make for the engine.")
      .def_prop_ro(
          "step", [](const PyBatchCall& self) { return self.call->step(); },
          "Index of the step whose function is meant.")
      .def_prop_ro(
          "key", [](const PyBatchCall& self) { return key_of(*self.call); },
          nb::sig("def key(self) -> tuple[int, int, int, int]"), "(seed, epoch, position, 0).")
      .def_prop_ro(
          "random_index", [](const PyBatchCall& self) { return self.call->random_index(); },
          "Place among the random operators on batches.")
      .def_prop_ro(
          "sample", [](const PyBatchCall& self) { return self.call->sample(); }, "Id of the first sample.")
      .def_prop_ro(
          "name", [](const PyBatchCall& self) { return to_text(self.call->sample_name()); },
          nb::sig("def name(self) -> str"), "What messages call the first sample.")
      .def_prop_ro("place", &place_of_batch, nb::sig("def place(self) -> str"),
                   "What notes of exceptions call the batch.")
      .def_prop_ro(
          "wants_object", [](const PyBatchCall& self) { return self.call->samples() != nullptr; },
          "Whether the function gets samples, and answers with any object.")
      .def("input", &input_of_batch, nb::sig("def input(self) -> dict[str, object] | list[dict[str, object]]"),
           "The fields of the batch, or copies of its samples.")
      .def("finish", &finish_fields, nb::arg("fields"), nb::arg("rows"),
           "Answers with fields: C-contiguous arrays, (values, offsets) of such, and lists of str or bytes or of lists "
           "of "
           "these. They are copied, unless they lie in the memory of input().")
      .def("finish_object", &finish_object, nb::arg("object"), "Answers with an object.")
      .def(
          "fail",
          [](PyBatchCall& self, nb::str message, const PyHeldObject& exception, bool of_batch) {
            fail(*self.call, std::move(message), exception, of_batch);
          },
          nb::arg("message"), nb::arg("exception"), nb::arg("of_sample") = true,
          "Answers with an exception. `of_sample`: it says something about the batch, so that the batch is passed.");
}

}  // namespace forebay::python
