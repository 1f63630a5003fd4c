#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "base/mutex.h"
#include "pipeline/foreign.h"

namespace forebay::python {

namespace nb = nanobind;

/// The Python objects of a loader that the engine no longer needs: exceptions of the user's
/// functions, and batches that they made. The objects themselves stay in Python, in a dictionary by
/// token. Engine threads hold only the token, so they never count Python references. Any thread may
/// call the methods.
class KeptObjects {
 public:
  void drop(int64_t token);
  /// Tokens dropped since the last call.
  std::vector<int64_t> take_dropped();

 private:
  Mutex mutex_;
  std::vector<int64_t> dropped_ FOREBAY_GUARDED_BY(mutex_);
};

/// The engine's hold on such an object: the payload of a kUser status, or Batch::object.
struct KeptObject {
  int64_t token;
  std::shared_ptr<KeptObjects> owner;

  KeptObject(int64_t number, std::shared_ptr<KeptObjects> objects) : token(number), owner(std::move(objects)) {}
  KeptObject(const KeptObject&) = delete;
  ~KeptObject() { owner->drop(token); }
};

/// An object as a call takes it: the payload of its status, or Batch::object. Python makes one with
/// KeptObjects.hold(), or with portable_object() in a server.
struct PyHeldObject {
  std::shared_ptr<void> object;
};

/// Python's handle of a KeptObjects. It holds the shared pointer by value: a shared pointer that
/// nanobind made from a Python object would take the interpreter lock on the thread that drops it
/// last.
struct PyKeptObjects {
  std::shared_ptr<KeptObjects> shared = std::make_shared<KeptObjects>();
};

/// Returns a field of a sample as Python sees it. `copy` is the tensor that becomes an array.
nb::object to_python(const std::string& name, const Value& value, Tensor copy);
/// Returns (seed, epoch, id, occurrence).
nb::tuple key_of(const ForeignCall& call);
/// Answers the call with an exception.
void fail(ForeignCall& call, nb::str message, const PyHeldObject& exception, bool of_sample);

void bind_foreign_call(nb::module_& module);

}  // namespace forebay::python
