#pragma once

#include <memory>
#include <string>

#include "materialize/writing_place.h"

namespace forebay {

/// A local folder, which is created if it is missing. A file gets its name once its content is on
/// disk.
std::shared_ptr<WritingPlace> local_place(std::string folder);

}  // namespace forebay
