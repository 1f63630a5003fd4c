#include "python/serving.h"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include "python/description.h"
#include "python/loader.h"
#include "python/raise.h"
#include "serve/server/server.h"

namespace forebay::python {

namespace {

/// A loader of the server as the threads of its functions see it.
struct ServedLoader {
  std::shared_ptr<Loader> loader;
  nb::object convert;  ///< see PyBatchCall

  ~ServedLoader() {
    // It may be the last reference, and the engine's threads end with the loader.
    const nb::gil_scoped_release unlocked;
    loader.reset();
  }
};

/// A Python object that threads without the interpreter lock may drop.
std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* dropped) {
            const nb::gil_scoped_acquire locked;
            delete dropped;
          }};
}

/// Keeps the threads of a loader's functions for as long as anybody uses the loader.
struct Answered {
  std::shared_ptr<Loader> loader;
  std::shared_ptr<nb::object> end;

  ~Answered() {
    loader->close();
    const nb::gil_scoped_acquire locked;
    try {
      (*end)();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the end of a loader's functions");
    }
  }
};

/// Runs `work` with the interpreter lock and converts its exceptions: C++ callers know nothing of
/// them.
template <typename Work>
auto with_interpreter(Work work) -> decltype(work()) {
  const nb::gil_scoped_acquire locked;
  try {
    return work();
  } catch (nb::python_error& error) {
    return status_of(error).value_or(unavailable(error.what()));
  } catch (const std::exception& error) {
    return unavailable(error.what());
  }
}

Result<std::shared_ptr<Loader>> answered(std::unique_ptr<Loader> opened, const nb::object& convert,
                                         const nb::object& begin) {
  const std::shared_ptr<Loader> loader = std::move(opened);
  return with_interpreter([&]() -> Result<std::shared_ptr<Loader>> {
    nb::object seen = nb::cast(new ServedLoader{loader, convert}, nb::rv_policy::take_ownership);
    auto owner = std::make_shared<Answered>(loader, shared(begin(seen)));
    return std::shared_ptr<Loader>(owner, loader.get());
  });
}

Result<UserPipeline> load_code(const std::string& source, const nb::object& load) {
  return with_interpreter([&]() -> Result<UserPipeline> {
    const auto loaded = nb::cast<nb::tuple>(load(source));
    const Pipeline pipeline = nb::cast<const PyDescription&>(loaded[0]).pipeline();
    return UserPipeline{pipeline,
                        [convert = shared(loaded[1]), begin = shared(loaded[2])](std::unique_ptr<Loader> opened) {
                          return answered(std::move(opened), *convert, *begin);
                        }};
  });
}

void serve(const std::string& path, int listening, int linger_s, const nb::object& load) {
  ServerOptions options;
  options.path = path;
  options.listening = FileDescriptor(listening);
  options.linger = std::chrono::seconds(linger_s);
  options.load_code = [load = shared(load)](const std::string& source) { return load_code(source, *load); };
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    Result<std::unique_ptr<Server>> server = Server::open(std::move(options));
    status = server.ok() ? (*server)->run(std::stop_token()) : server.status();
  }
  check(status);
}

}  // namespace

void bind_serving(nb::module_& module) {
  nb::class_<ServedLoader>(module, "ServedLoader", "A loader of this server, for the threads of its functions.")
      .def(
          "take_call",
          [](ServedLoader& self, double timeout_s) { return take_call(*self.loader, timeout_s, self.convert); },
          nb::arg("timeout_s"), nb::sig("def take_call(self, timeout_s: float) -> SampleCall | BatchCall | None"),
          "See Loader.take_call.")
      .def_prop_ro("closed", [](const ServedLoader& self) { return self.loader->closed(); });
  module.def("serve", &serve, nb::arg("path"), nb::arg("listening"), nb::arg("linger_s"), nb::arg("load"),
             nb::sig("def serve(path: str, listening: int, linger_s: int, load: collections.abc.Callable[[str], "
                     "tuple[Description, typing.Any, collections.abc.Callable[[ServedLoader], "
                     "collections.abc.Callable[[], None]]]]) -> None"),
             "Serves loaders over the listening socket until its last client has been gone for `linger_s` seconds. "
             "`load(source)` returns a pipeline with functions, what makes arrays of `output=`, and a function that "
             "begins to answer the calls of a loader, which returns one that ends that. Threads without the "
             "interpreter lock call them.");
}

}  // namespace forebay::python
