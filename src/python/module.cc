#include <nanobind/nanobind.h>

#include "python/batch.h"
#include "python/description.h"
#include "python/foreign_call.h"
#include "python/loader.h"

NB_MODULE(_core, module) {
  module.doc() = "The native half of the package forebay. Not for direct use.";
  module.attr("__version__") = FOREBAY_VERSION;
  forebay::python::bind_description(module);
  forebay::python::bind_batch(module);
  forebay::python::bind_foreign_call(module);
  forebay::python::bind_loader(module);
}
