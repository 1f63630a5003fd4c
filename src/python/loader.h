#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "forebay/loader.h"
#include "forebay/shared_loader.h"
#include "python/description.h"

namespace forebay::python {

namespace nb = nanobind;

/// A loader as Python sees it. Methods are entered with the interpreter lock and give it up while they wait; those that the
/// C++ loader wants from one thread at a time take turns here. Ctrl-C interrupts every wait but close(), which is bounded.
///
/// After a fork the child has none of the loader's threads: there every method raises, and the destructor lets the memory be.
class PyLoader {
 public:
  /// `share`: the server that makes the batches; nothing: they are made here.
  PyLoader(const PyDescription& description, LoaderOptions options, std::optional<ShareOptions> share,
           nb::object convert);
  ~PyLoader();
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  /// Runs the filters. Python threads must be there to take their calls.
  void prepare();
  void begin_iteration();
  /// A Batch, or None at the end of an epoch. An interrupt loses nothing.
  nb::object next();
  nb::object take_call(double timeout_s);
  int64_t batches_per_epoch();
  int64_t epoch();
  void set_epoch(int64_t epoch);
  nb::object state();
  void load_state(nb::str json, bool strict);
  PyDescription opened() const;
  void journal(nb::str path);
  nb::dict stats();
  std::string report();
  /// The same with all figures as an HTML page, which replaces the file.
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
  /// The same where this process makes the batches; null where a server does.
  Loader* own_loader() const;

 private:
  // Shared with a prepare() that was interrupted and goes on in the background.
  struct Engine {
    std::unique_ptr<BatchLoader> loader;
    Loader* own = nullptr;  ///< `loader`, where this process makes the batches
    std::timed_mutex turn;
  };
  [[noreturn]] void raise_from(const Status& status);
  template <typename Call>
  auto in_turn(Call call);

  nb::object keep_;  // outlives the loader, which reads its memory
  nb::object convert_;
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  pid_t process_;
  Status raised_;  // keeps the payload of the last user exception until Python has picked the exception up
};

void bind_loader(nb::module_& module);

}  // namespace forebay::python
