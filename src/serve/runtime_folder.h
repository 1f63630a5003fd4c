#pragma once

#include <string>

#include "forebay/result.h"

namespace forebay {

/// Returns the folder in which processes of this user find each other: $XDG_RUNTIME_DIR/forebay, or
/// else /tmp/forebay-UID. Only its name: the folder need not exist.
std::string runtime_folder();

/// Creates a folder that only this user can enter, unless there is one. Unavailable if the folder
/// belongs to another user, if others can enter it, or if it cannot be created.
Status make_private_folder(const std::string& folder);

}  // namespace forebay
