#pragma once

#include <span>
#include <vector>

#include "base/schema.h"
#include "forebay/problem.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns whether the pipeline is made of other ones, as those of mix and concat are.
bool is_tree(const Description& description);

/// Returns the problems of a pipeline that is made of other ones: of each branch by itself, of
/// steps that may not stand in or behind a part, and of fields that differ between the branches.
/// `sources` are the schemas of the sources in the order of branches_of(); empty if they are not
/// open yet.
std::vector<Problem> tree_problems(const Description& description, std::span<const Schema> sources);

}  // namespace forebay
