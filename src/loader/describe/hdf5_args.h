#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// The arguments of `hdf5`, as a description holds them: `pattern` a text or a list of texts, `fields` an object name → path, `window` and `stride`
/// numbers of rows.
Json hdf5_args(const Hdf5Options& options);

/// What is wrong with the arguments in themselves, beyond their types.
void check_hdf5(const OpSpec& source, std::vector<Problem>& problems);

Result<std::shared_ptr<const Source>> open_hdf5_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
