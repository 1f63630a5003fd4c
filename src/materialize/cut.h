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

/// The step that `cut` names. Where the best one is asked for, and something was begun with the steps `begun` (MaterializedManifest::steps), the cut of
/// that: measured again it might be another. InvalidArgument, with those that there are.
Result<size_t> find_cut(const Description& description, const MaterializeOptions& options,
                        const std::optional<std::string>& begun);

/// The cut behind which these steps (MaterializedManifest::steps) stand, if there is one.
std::optional<size_t> cut_of(const Description& description, const std::string& steps);

/// Why the steps up to `cut` cannot be materialised, although they give the same each epoch.
Status check_cut(const Description& description, size_t cut);

/// The steps up to the cut that make something, then batches of so many. `source`: opened already, in place of the first step. `samples`: over so
/// many, spread over the data set.
Changed before_cut(const Description& description, size_t cut, int64_t batch, std::shared_ptr<const Source> source = {},
                   std::optional<int64_t> samples = {});
/// What was written there, then the steps behind the cut.
Changed behind_cut(const Description& description, size_t cut, const std::string& folder);

}  // namespace forebay
