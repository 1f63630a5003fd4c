#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "forebay/diagnosis.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {

/// The place of a step that a changed pipeline does not have.
constexpr size_t kGone = SIZE_MAX;

/// A changed description, and the new numbers of the original steps. Numbers count over the whole
/// tree (see Description).
struct Changed {
  Description description;
  ChangedSteps steps;
};

/// Returns the steps that replace a step. `number` is its number in the tree. If the step itself
/// stays, it is the first of them; a source always stays.
using Become = std::function<std::vector<OpSpec>(size_t number, const OpSpec& step)>;
/// Replaces each step of a tree, those of parts before the source that has the parts.
Changed rewritten(const Description& description, const Become& become);

/// Returns the places of the steps after two changes, one after the other; with the descriptions, the
/// second change relative to what the first one is relative to.
ChangedSteps composed(const ChangedSteps& first, const ChangedSteps& second);
Changed composed(const Changed& first, const Changed& second);

}  // namespace forebay
