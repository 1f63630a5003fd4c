#pragma once

#include <nanobind/nanobind.h>

#include "forebay/loader.h"

namespace forebay::python {

/// Plain dictionaries of numbers and text, for printing and for json.dumps.
nanobind::dict to_dict(const Ledger& ledger);
nanobind::dict to_dict(const ErrorEntry& entry);
nanobind::dict to_dict(const DataWarning& warning);

}  // namespace forebay::python
