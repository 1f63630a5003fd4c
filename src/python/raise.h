#pragma once

#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "forebay/result.h"

namespace forebay::python {

/// Throws the exception of forebay.errors that belongs to the status. Needs the interpreter lock.
[[noreturn]] void raise(const Status& status);

/// The other way, for an exception of forebay.errors, where nothing but code and text is wanted. Needs the interpreter lock.
std::optional<Status> status_of(const nanobind::python_error& error);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}

/// The value, or the exception that says why there is none.
template <typename T>
T value_or_raise(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace forebay::python
