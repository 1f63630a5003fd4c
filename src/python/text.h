#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "pipeline/description.h"

namespace forebay::python {

namespace nb = nanobind;

/// Bytes that should be UTF-8, as `str`. Other bytes (odd file names) become lone surrogates, as in os.fsdecode.
nb::object to_text(std::string_view bytes);
/// The way back.
std::string from_text(nb::handle text);

/// None, bool, int, float, str, list, tuple and dict, as JSON; floats that are not finite as "nan", "inf" and "-inf". TypeError for
/// anything else, OverflowError for integers of more than 64 bits.
Json to_json(nb::handle value);

}  // namespace forebay::python
