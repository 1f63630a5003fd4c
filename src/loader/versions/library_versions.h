#pragma once

#include <vector>

#include "forebay/versions.h"

namespace forebay {

/// The libraries that the engine is always linked to, sorted by name.
std::vector<LibraryVersion> library_versions();

}  // namespace forebay
