#pragma once

#include "forebay/result.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the description with absolute paths, so that a process with another working folder can
/// open it. Relative paths are resolved against `folder`. InvalidArgument for a step whose path is
/// part of the pipeline's identity: that path must be absolute already.
Result<Description> with_absolute_paths(const Description& description, const std::string& folder);

}  // namespace forebay
