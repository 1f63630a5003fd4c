#pragma once

#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// Replaces a file atomically: a reader finds the old bytes or the new ones, also after the process
/// was killed. NotFound if its folder does not exist, Unavailable if the file cannot be written.
/// The error does not name the file.
Status replace_file(const std::string& path, std::string_view bytes);

/// The error that replace_file() would return, found before there is anything to write. Leaves the
/// file as it is.
Status check_replaceable(const std::string& path);

}  // namespace forebay
