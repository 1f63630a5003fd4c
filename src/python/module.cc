#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/byte_size.h"
#include "base/suggest.h"
#include "forebay/engine.h"
#include "forebay/ledger.h"
#include "loader/describe/catalog_json.h"
#include "pipeline/catalog.h"
#include "python/batch.h"
#include "python/description.h"
#include "python/diagnose.h"
#include "python/feed.h"
#include "python/foreign_call.h"
#include "python/loader.h"
#include "python/materialize.h"
#include "python/profile.h"
#include "python/raise.h"
#include "python/simulate.h"

NB_MODULE(_core, module) {
  module.doc() = "The native half of the package forebay. Not for direct use.";
  module.attr("__version__") = FOREBAY_VERSION;
  module.def(
      "parse_bytes", [](const std::string& text) { return forebay::parse_byte_size(text); }, nanobind::arg("text"),
      "Bytes of \"2GiB\", \"512MB\", \"4096\"; None where the text is no size. The parser of all faces.");
  module.def(
      "suggest",
      [](const std::string& typed, const std::vector<std::string>& known) { return forebay::suggest(typed, known); },
      nanobind::arg("typed"), nanobind::arg("known"), "The word that was probably meant, or an empty text.");
  module.def(
      "be_quiet_at_exit", [] { nanobind::set_leak_warnings(false); },
      "For the child of a fork: frames of threads that it does not have keep objects alive, and nothing can free "
      "them.");
  module.def(
      "catalog", [] { return forebay::describe_catalog().dump(); },
      "All operators and sources with their arguments, as JSON: what the package and the documents are compared with.");
  module.def(
      "ledger_schema", [] { return forebay::ledger_schema(); },
      "What stats() can hold, with kinds, units and help, as JSON: what metrics and the documents are made of.");
  module.def(
      "engine",
      [](std::optional<int> threads, std::optional<uint64_t> memory) {
        forebay::python::check(forebay::engine({threads, memory}));
      },
      nanobind::arg("threads").none(), nanobind::arg("memory").none());
  forebay::python::bind_description(module);
  forebay::python::bind_batch(module);
  forebay::python::bind_foreign_call(module);
  forebay::python::bind_feed(module);
  forebay::python::bind_loader(module);
  forebay::python::bind_diagnose(module);
  forebay::python::bind_profile(module);
  forebay::python::bind_simulate(module);
  forebay::python::bind_materialize(module);
}
