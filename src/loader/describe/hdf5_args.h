#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the arguments of `hdf5` as a description holds them: `pattern` is a text or a list of
/// texts, `fields` an object from name to path, `window` and `stride` are numbers of rows.
Json hdf5_args(const Hdf5Options& options);

/// Adds problems with the arguments, beyond their types.
void check_hdf5(const OpSpec& source, std::vector<Problem>& problems);

Result<std::shared_ptr<const Source>> open_hdf5_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
