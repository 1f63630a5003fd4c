#pragma once

#include <span>
#include <vector>

#include "base/schema.h"
#include "forebay/problem.h"
#include "pipeline/branches.h"

namespace forebay {

/// Decides the fields of all steps that a mix with `missing="mask"` adds to its branches
/// (fill_missing): each gets those that only others have, and a bool for each of these. `sources`:
/// the schemas of the sources of all branches. Fields that user code makes unannounced are not
/// known, and a branch that has such code lacks none. Returns the problems: fields without zeros, for
/// which all sources have to be open.
std::vector<Problem> complete_missing_fields(std::vector<Branch>& branches, std::span<const Schema> sources);

}  // namespace forebay
