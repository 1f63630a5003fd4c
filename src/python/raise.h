#pragma once

#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "forebay/result.h"

namespace forebay::python {

/// Throws the exception of forebay.errors that belongs to the status. Requires the interpreter
/// lock.
[[noreturn]] void raise(const Status& status);

/// Converts an exception of forebay.errors to a status with its code and text only. Requires the
/// interpreter lock.
std::optional<Status> status_of(const nanobind::python_error& error);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}

/// Returns the value, or throws the exception of the error.
template <typename T>
T value_or_raise(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace forebay::python
