#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "base/mutex.h"
#include "base/timed_mutex.h"
#include "forebay/loader.h"
#include "forebay/shared_loader.h"
#include "python/array.h"
#include "python/description.h"

namespace forebay {
struct Ledger;
}

namespace forebay::python {

namespace nb = nanobind;

/// Waits for the next call of a user function. Returns a SampleCall, a BatchCall, or None after the
/// timeout and once the loader is closed. `convert`: see PyBatchCall.
nb::object take_call(Loader& loader, double timeout_s, const nb::object& convert);

/// A loader as Python sees it. Python calls the methods with the interpreter lock held, and they
/// release it while they wait. Methods of the C++ loader that allow one thread at a time are
/// serialized here. Ctrl-C interrupts every wait except close(), whose time is bounded.
///
/// After a fork the child process has none of the loader's threads. Every method except close() and
/// closed() raises there, and the destructor leaks the memory.
class PyLoader {
 public:
  /// `share` describes the server that makes the batches; without it this process makes them.
  PyLoader(const PyDescription& description, LoaderOptions options, std::optional<ShareOptions> share,
           nb::object convert);
  ~PyLoader();
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  /// Runs the filters. Python threads must already be running to answer their calls.
  void prepare();
  void begin_iteration();
  /// Returns a Batch, or None at the end of an epoch. An interrupt loses no batch.
  nb::object next();
  nb::object take_call(double timeout_s);
  int64_t batches_per_epoch();
  int64_t epoch();
  void set_epoch(int64_t epoch);
  nb::object state();
  void load_state(nb::str json, bool strict);
  void load_state_of_changed_parts(nb::str json, bool strict);
  void set_weights(const std::map<std::string, double>& weights);
  /// `weights`: one float64 for each sample.
  void set_sampling(const InputArray& weights, nb::str version, nb::str part);
  PyDescription opened() const;
  void journal(nb::str path);
  nb::dict stats();
  /// Returns (name of the limit, share of the time that the consumer waited for it), since the last
  /// call or the opening.
  nb::tuple limit();
  std::string report();
  /// Writes the report with all figures as an HTML page and replaces an existing file.
  void write_report(nb::str path);
  void begin_trace(nb::str path, uint64_t most_bytes);
  void end_trace();
  nb::list errors();
  nb::list warnings();
  void close();
  bool closed() const { return engine_->loader->closed(); }
  /// Raises in a forked child and after close().
  void require_open() const;

  /// The C++ loader; raises in a forked child.
  BatchLoader& loader() const;
  /// The same if this process makes the batches; null if a server does.
  Loader* own_loader() const;

 private:
  // Shared with a prepare() that was interrupted and continues in the background.
  struct Engine {
    std::unique_ptr<BatchLoader> loader;
    Loader* own = nullptr;  ///< `loader` if this process makes the batches, else null
    TimedMutex turn;
  };
  [[noreturn]] void raise_from(const Status& status);
  template <typename Call>
  auto in_turn(Call call);

  nb::object keep_;  // arrays that the loader reads; outlives it
  nb::object convert_;
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  pid_t process_;
  LoaderOptions given_;  // only the numbers of which one may be the limit
  Mutex mutex_;          // without the interpreter's lock, threads may call at once
  std::unique_ptr<Ledger> at_last_limit_ FOREBAY_GUARDED_BY(mutex_);
  // Keeps the payload of the last user exception until Python has looked it up.
  Status raised_ FOREBAY_GUARDED_BY(mutex_);
};

void bind_loader(nb::module_& module);

}  // namespace forebay::python
