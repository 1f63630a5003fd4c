#pragma once

#include "pipeline/description.h"

namespace forebay {

/// Describes all operators and sources: {"operators": […], "sources": […]}, each with its name,
/// help, role and arguments. Operators are sorted by name; sources have the order of the
/// documentation. The documentation is made from it, and tests compare the faces with it. Its form
/// may change.
Json describe_catalog();

}  // namespace forebay
