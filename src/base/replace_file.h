#pragma once

#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// Replaces the file in one step: whoever reads it, also after a kill, finds the old bytes or the new ones. NotFound where its folder is
/// not there, Unavailable where it cannot be written; the error names no file.
Status replace_file(const std::string& path, std::string_view bytes);

/// What replace_file() would fail with, before there is anything to write: the file itself is left as it is.
Status check_replaceable(const std::string& path);

}  // namespace forebay
