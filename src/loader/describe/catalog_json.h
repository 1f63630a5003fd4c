#pragma once

#include "pipeline/description.h"

namespace forebay {

/// All that is said of operators and sources, for what is made of it or compared with it: {"operators": […], "sources": […]}, each with
/// its name, help, role, arguments and what is to be known of these. Operators by name, sources in the order of the documents.
/// For the documentation and the tests that compare faces; what is in it is a promise to neither.
Json describe_catalog();

}  // namespace forebay
