#pragma once

#include "pipeline/description.h"

namespace forebay {

/// Everything that is said of operators and sources: {"operators": […], "sources": […]}, each with
/// its name, help, role and arguments. Operators come by name, sources in the order of the documents.
/// `tools/operators` and the tests that compare faces read it; the form may change with them.
Json describe_catalog();

}  // namespace forebay
