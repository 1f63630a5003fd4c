#pragma once

#include <vector>

#include "forebay/diagnosis.h"
#include "page/page.h"

namespace forebay {

/// Shows what the parts of a pipeline over many data sets cost, in the given order.
Section parts_section(const std::vector<PartCost>& parts);

}  // namespace forebay
