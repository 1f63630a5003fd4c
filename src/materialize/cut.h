#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/source.h"
#include "forebay/materialize.h"
#include "pipeline/description.h"
#include "study/changes.h"

namespace forebay {

// A cut is an index in the description's own steps. The steps in the parts of a zip are in its
// source.

/// Returns the index of a step, given its number in the tree (see Description).
size_t own_step(const Description& description, size_t number);

/// Unsupported for a pipeline over several data sets, with the commands that materialize each of
/// them, and for a zip whose order is in a part of it.
Status check_parts(const Description& description);

/// Returns the step that `cut` names. For "best", if data was begun with the steps `begun`
/// (MaterializedManifest::steps), returns their cut: another measurement might choose another one.
/// InvalidArgument, listing the possible cuts.
Result<size_t> find_cut(const Description& description, const MaterializeOptions& options,
                        const std::optional<std::string>& begun);

/// Returns the cut that these steps (MaterializedManifest::steps) end at, if there is one.
std::optional<size_t> cut_of(const Description& description, const std::string& steps);

/// InvalidArgument if the steps up to `cut` choose, draw or repeat samples: all samples are materialised.
Status check_cut(const Description& description, size_t cut);

/// Returns the steps up to the cut that make values, followed by batches of `batch` rows. `source`,
/// if given, replaces the first step. `samples` limits it to that many samples, spread over the
/// data set.
Changed before_cut(const Description& description, size_t cut, int64_t batch, std::shared_ptr<const Source> source = {},
                   std::optional<int64_t> samples = {});
/// Returns the steps that read the folder, followed by those after the cut.
Changed pipeline_after_cut(const Description& description, size_t cut, const std::string& folder);

}  // namespace forebay
