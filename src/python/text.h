#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "pipeline/json_fwd.h"

namespace forebay::python {

namespace nb = nanobind;

/// Converts bytes that should be UTF-8 to `str`. Other bytes (in odd file names) become lone
/// surrogates, as in os.fsdecode.
nb::object to_text(std::string_view bytes);
/// Converts `str` back to the same bytes.
std::string from_text(nb::handle text);

/// Converts None, bool, int, float, str, list, tuple and dict to JSON. Floats that are not finite
/// become "nan", "inf" and "-inf". Raises TypeError for anything else and OverflowError for
/// integers of more than 64 bits.
Json to_json(nb::handle value);

}  // namespace forebay::python
