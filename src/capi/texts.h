#pragma once

#include <string>

#include "forebay/status.h"

namespace forebay::capi {

/// A copy for the caller, in `*given`, which fb_string_free() takes back.
Status give_text(const std::string& text, char** given);

}  // namespace forebay::capi
