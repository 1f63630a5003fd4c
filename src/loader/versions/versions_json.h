#pragma once

#include "pipeline/json_fwd.h"

namespace forebay {

/// versions() as the program and the Python package show it: {"forebay", "revision", "compiler",
/// "processor": […], "libraries": {name: version}, "modules": {name: {"loads", "detail"}}}.
Json versions_json();

}  // namespace forebay
