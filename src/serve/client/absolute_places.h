#pragma once

#include "forebay/result.h"
#include "pipeline/description.h"

namespace forebay {

/// The description with the places of its data as a process with another working folder finds them. InvalidArgument for a step whose
/// place is part of what the pipeline is: it has to be absolute already.
Result<Description> with_absolute_places(const Description& description, const std::string& folder);

}  // namespace forebay
