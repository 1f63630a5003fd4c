#pragma once

#include <string>

#include "forebay/status.h"

namespace forebay::capi {

/// Copies a text for the caller into `*given`. The caller frees the copy with fb_string_free().
Status return_text(const std::string& text, char** copy_out);

}  // namespace forebay::capi
