#pragma once

#include <string>
#include <vector>

#include "pipeline/description.h"

namespace forebay {

/// The share of all samples that a part has at first, as far as weights say it: sources without
/// weights are left out. `path`: names of the parts that it lies in, outermost first.
double first_share(const Description& description, const std::vector<std::string>& path);

}  // namespace forebay
