#pragma once

#include <memory>
#include <vector>

#include "base/source.h"

namespace forebay {

/// Those samples of a data set, numbered anew; of a table those units.
std::shared_ptr<const Source> chosen_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen);

}  // namespace forebay
