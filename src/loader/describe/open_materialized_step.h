#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"

namespace forebay {

struct OpSpec;
struct Problem;

void check_materialized(const OpSpec& source, std::vector<Problem>& found);

/// Opens data that materialize() wrote. With original="check", it also opens the original data set,
/// if possible: StateMismatch if that has changed since.
Result<std::shared_ptr<const Source>> open_materialized_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
