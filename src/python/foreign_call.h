#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "base/mutex.h"

namespace forebay::python {

namespace nb = nanobind;

/// The user exceptions of a loader that the engine no longer needs. The exceptions themselves stay
/// in Python, in a dictionary by token. Engine threads hold only the token, so they never count
/// Python references. Any thread may call the methods.
class Failures {
 public:
  void drop(int64_t token);
  /// Tokens dropped since the last call.
  std::vector<int64_t> take_dropped();

 private:
  Mutex mutex_;
  std::vector<int64_t> dropped_ FOREBAY_GUARDED_BY(mutex_);
};

/// The payload of a kUser status.
struct UserFailure {
  int64_t token;
  std::shared_ptr<Failures> failures;

  UserFailure(int64_t number, std::shared_ptr<Failures> owner) : token(number), failures(std::move(owner)) {}
  UserFailure(const UserFailure&) = delete;
  ~UserFailure() { failures->drop(token); }
};

/// Python's handle of a Failures. It holds the shared pointer by value: a shared pointer that
/// nanobind made from a Python object would take the interpreter lock on the thread that drops it
/// last.
struct PyFailures {
  std::shared_ptr<Failures> shared = std::make_shared<Failures>();
};

void bind_foreign_call(nb::module_& module);

}  // namespace forebay::python
