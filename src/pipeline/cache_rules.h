#pragma once

#include <optional>
#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// What is wrong with the place of a `.cache()` at `step`: it would freeze random results, its entries could not be told apart from
/// those of another function, or it keeps again what the step before keeps. Empty for other steps.
std::vector<Problem> cache_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// The same of a `.pack()`: lengths are taken once, so they have to be the same in every epoch.
std::vector<Problem> pack_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// What is wrong with the place of the step that stands behind a `.rehearse()`; nothing where it may stand there.
std::optional<Problem> problem_behind_rehearsal(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// Whether it is a `.rehearse()` that keeps what the steps before it made.
bool rehearses_here(const OpSpec& op, const Catalog& catalog);

/// Whether it runs a function of the user's without a version, so that a later run could not tell whether it is still the same.
bool is_unversioned(const OpSpec& op, const Catalog& catalog);

/// Whether the results of this step are other ones in each epoch.
bool is_random_step(const OpSpec& op, const Catalog& catalog);
/// Whether user code is told the epoch (`epoch=True`), so that what it gives is of one epoch.
bool follows_epoch(const OpSpec& op);
/// The step is a cache, a filter or a pack behind one that follows the epoch: it would take what that gives in one epoch for all of them.
std::optional<Problem> problem_of_epoch(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

}  // namespace forebay
