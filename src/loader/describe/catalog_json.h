#pragma once

#include "pipeline/json_fwd.h"

namespace forebay {

/// Describes all operators and sources: {"operators": […], "sources": […]}, each with its name,
/// help, role and arguments. Operators are sorted by name; sources have the order of the
/// documentation. `tools/operators` and the tests that compare faces read it; its form may change with
/// them.
Json describe_catalog();

}  // namespace forebay
