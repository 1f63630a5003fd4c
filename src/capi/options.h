#pragma once

#include <string_view>

#include "forebay/loader.h"

namespace forebay::capi {

/// A loader's options as Python calls them, from a JSON object: {"seed": 7, "epochs": 2, "memory": "2GiB", …}. Text of blanks alone, and null for any
/// of them: as it is by default. InvalidArgument names the option, what it is and what it can be; a name that is not known comes with the one that was
/// probably meant.
Result<LoaderOptions> options_from_json(std::string_view text);

}  // namespace forebay::capi
