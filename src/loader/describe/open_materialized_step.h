#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"
#include "pipeline/operator.h"

namespace forebay {

void check_materialized(const OpSpec& source, std::vector<Problem>& found);

/// What materialize() wrote. With original="check" the data set that it was made of is opened, too, if it can be: StateMismatch where it has
/// changed since.
Result<std::shared_ptr<const Source>> open_materialized_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
