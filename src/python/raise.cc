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
  // The error's own type, not a base class: except clauses name one code.
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

std::optional<Status> status_of(const nb::python_error& error) {
  const nb::object base = nb::module_::import_("forebay.errors").attr("Error");
  if (!nb::isinstance(error.value(), base)) return std::nullopt;
  const std::string name = from_text(error.value().attr("code"));
  for (int code = 1; code <= static_cast<int>(Code::kInternal); ++code) {
    if (code_name(static_cast<Code>(code)) == name)
      return Status(static_cast<Code>(code), from_text(nb::str(error.value())));
  }
  return std::nullopt;
}

}  // namespace forebay::python
