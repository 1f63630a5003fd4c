#pragma once

#include <memory>
#include <string>

#include "materialize/output_location.h"

namespace forebay {

/// A local folder, which is created if it is missing. A file gets its name once its content is on
/// disk.
std::shared_ptr<OutputLocation> local_location(std::string folder);

}  // namespace forebay
