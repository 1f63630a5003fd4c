#include "python/text.h"

#include <cmath>

#include "pipeline/op_spec.h"

namespace forebay::python {

nb::object to_text(std::string_view bytes) {
  // surrogateescape (PEP 383): file names that are not UTF-8 convert back to the same bytes.
  PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal(text);
}

std::string from_text(nb::handle text) {
  nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

namespace {

Json integer(nb::handle value) {
  // -1 is also a valid number.
  const long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_SetString(PyExc_OverflowError, "an integer in a pipeline does not fit into 64 bits");
    throw nb::python_error();
  }
  return Json(static_cast<int64_t>(number));
}

// JSON has no numbers for non-finite values; null would stand for all three.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json object(nb::handle value) {
  Json json = Json::object();
  for (auto [name, item] : nb::borrow<nb::dict>(value)) json[from_text(name)] = to_json(item);
  return json;
}

Json array(nb::handle value) {
  Json json = Json::array();
  for (nb::handle item : value) json.push_back(to_json(item));
  return json;
}

}  // namespace

Json to_json(nb::handle value) {
  if (value.is_none()) return nullptr;
  // Before integers, because bool is a subclass of int.
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return integer(value);
  if (PyFloat_Check(value.ptr())) return number(PyFloat_AsDouble(value.ptr()));
  if (PyUnicode_Check(value.ptr())) return from_text(value);
  if (PyDict_Check(value.ptr())) return object(value);
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return array(value);
  PyErr_Format(PyExc_TypeError,
               "an argument of a pipeline is of type %U; it must be a number, a text or a list of them",
               nb::object(value.type().attr("__name__")).ptr());
  throw nb::python_error();
}

}  // namespace forebay::python
