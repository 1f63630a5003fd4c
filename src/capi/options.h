#pragma once

#include <string_view>

#include "forebay/loader.h"

namespace forebay::capi {

/// Parses a loader's options from a JSON object with the names of Python: {"seed": 7, "epochs": 2,
/// "memory": "2GiB", …}. A blank text, or null for an option, gives the default. InvalidArgument
/// names the option, its value and what is allowed. For an unknown name it suggests the option that
/// was probably meant.
Result<LoaderOptions> options_from_json(std::string_view text);

}  // namespace forebay::capi
