#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

namespace forebay::python {

namespace nb = nanobind;

/// Which of a loader's user exceptions the engine has let go of. The exceptions themselves stay on the Python side, in a
/// dictionary by token: engine threads carry only the number, so they never count a Python reference.
class Failures {
 public:
  void drop(int64_t token);
  /// Tokens dropped since the last call.
  std::vector<int64_t> take_dropped();

 private:
  std::mutex mutex_;
  std::vector<int64_t> dropped_;
};

/// The payload of a kUser status.
struct UserFailure {
  int64_t token;
  std::shared_ptr<Failures> failures;

  UserFailure(int64_t number, std::shared_ptr<Failures> owner) : token(number), failures(std::move(owner)) {}
  UserFailure(const UserFailure&) = delete;
  ~UserFailure() { failures->drop(token); }
};

/// What Python holds of it. A holder by value: a shared pointer that nanobind made from a Python object would take the
/// interpreter lock on whatever thread lets go of it last.
struct PyFailures {
  std::shared_ptr<Failures> shared = std::make_shared<Failures>();
};

void bind_foreign_call(nb::module_& module);

}  // namespace forebay::python
