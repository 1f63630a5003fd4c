#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/problem.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// Adds problems with the arguments of `megatron`, beyond their types.
void check_megatron(const OpSpec& source, std::vector<Problem>& problems);

Result<std::shared_ptr<const Source>> open_megatron_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
