#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/byte_size.h"
#include "base/suggest.h"
#include "forebay/engine.h"
#include "forebay/ledger.h"
#include "format/table/arrow_library.h"
#include "loader/describe/catalog_json.h"
#include "loader/versions/build.h"
#include "loader/versions/versions_json.h"
#include "pipeline/catalog.h"
#include "python/batch.h"
#include "python/batch_call.h"
#include "python/description.h"
#include "python/diagnose.h"
#include "python/feed.h"
#include "python/foreign_call.h"
#include "python/live.h"
#include "python/loader.h"
#include "python/materialize.h"
#include "python/profile.h"
#include "python/raise.h"
#include "python/serving.h"
#include "python/simulate.h"

NB_MODULE(_core, module) {
  using namespace forebay::python;
  module.doc() = "The native half of the package forebay. Not for direct use.";
  module.attr("__version__") = forebay::build().version;
  module.def(
      "parse_bytes", [](const std::string& text) { return forebay::parse_byte_size(text); }, nanobind::arg("text"),
      "Number of bytes of \"2GiB\", \"512MB\" or \"4096\"; None if the text is not a size. Shared by the command line "
      "and the package.");
  module.def(
      "suggest",
      [](const std::string& typed, const std::vector<std::string>& known) { return forebay::suggest(typed, known); },
      nanobind::arg("typed"), nanobind::arg("known"), "The known word that was probably meant, or an empty text.");
  module.def(
      "be_quiet_at_exit", [] { nanobind::set_leak_warnings(false); },
      "Turns off the warnings about leaked objects at exit. Called in the child of a fork: the threads of the parent "
      "do not exist there, so objects that their frames refer to are never freed.");
  module.def(
      "catalog", [] { return forebay::describe_catalog().dump(); },
      "All operators and sources with their arguments, as JSON. The package and the documents are checked against it.");
  module.def(
      "ledger_schema", [] { return forebay::ledger_schema(); },
      "The figures that stats() can have, with kinds, units and help, as JSON. Metrics and documents are made from "
      "it.");
  module.def(
      "versions", [] { return forebay::versions_json().dump(); }, nanobind::call_guard<nanobind::gil_scoped_release>(),
      "The versions of Forebay, its libraries and its modules, as JSON.");
  module.def(
      "engine",
      [](std::optional<int> threads, std::optional<uint64_t> memory) { check(forebay::engine({threads, memory})); },
      nanobind::arg("threads").none(), nanobind::arg("memory").none(),
      "Sets the threads and the bytes of memory of the process's engine. None means the default.");
  module.def(
      "look_for_arrow_in", [](const std::string& folder) { forebay::look_for_arrow_in(folder); },
      nanobind::arg("folder"),
      "Names the folder of the installed pyarrow, whose libraries read tables. They are loaded with the first table.");
  bind_description(module);
  bind_batch(module);
  bind_foreign_call(module);
  bind_batch_call(module);
  bind_feed(module);
  bind_loader(module);
  bind_serving(module);
  bind_live(module);
  bind_diagnose(module);
  bind_profile(module);
  bind_simulate(module);
  bind_materialize(module);
}
