#pragma once

#include <optional>
#include <span>

#include "forebay/problem.h"
#include "pipeline/branches.h"

namespace forebay {

/// The problem of a branch whose mix makes a field of the part (`field=`) behind a `.pack()`.
std::optional<Problem> part_field_problem(const Branch& branch);

/// The problem of branches of one pipeline that pack differently: either all or none pack, and
/// those that do fill their fields alike. Its place is not set.
std::optional<Problem> packed_parts_problem(std::span<const Branch* const> branches);

}  // namespace forebay
