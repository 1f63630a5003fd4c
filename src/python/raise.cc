#include "python/raise.h"

#include <nanobind/nanobind.h>

#include "python/text.h"

namespace forebay::python {

namespace {

nb::object text_or_none(const std::string& text) { return text.empty() ? nb::none() : to_text(text); }

nb::object range_or_none(const Status& status) {
  if (!status.range()) return nb::none();
  return nb::make_tuple(status.range()->offset, status.range()->length);
}

nb::object sample_or_none(const Status& status) {
  if (!status.sample()) return nb::none();
  return nb::int_(*status.sample());
}

}  // namespace

void raise(const Status& status) {
  nb::object make = nb::module_::import_("forebay.errors").attr("from_status");
  nb::object error =
      make(to_text(code_name(status.code())), to_text(status.message()), text_or_none(status.key()),
           text_or_none(status.op()), sample_or_none(status), range_or_none(status), status.bytes_needed());
  // Its own type, and not that of a base class: except clauses are for one code.
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace forebay::python
