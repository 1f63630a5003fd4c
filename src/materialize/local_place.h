#pragma once

#include <memory>
#include <string>

#include "materialize/writing_place.h"

namespace forebay {

/// A local folder, made where it is not there. Files are renamed to their names once they are on the disk.
std::shared_ptr<WritingPlace> local_place(std::string folder);

}  // namespace forebay
