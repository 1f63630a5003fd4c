#pragma once

#include <optional>
#include <vector>

#include "forebay/problem.h"

namespace forebay {

class Catalog;
struct OpSpec;

/// Problems with the place of a `.cache()` at `step`: it would freeze random results, entries of an
/// older version of a function could not be recognized, or the step before is a cache already.
/// Empty for other steps.
std::vector<Problem> cache_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// The problem of a part's cache whose entries have the fields of all parts of the zip, as those of
/// rows in chunks have: results of another part would be frozen, or could not be told from older
/// ones. Nothing if there is none.
std::optional<Problem> shared_entries_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// Problems with the place of a `.pack()` at `step`: lengths are measured once, so they have to be
/// the same in every epoch. Empty for other steps.
std::vector<Problem> pack_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// The problem of a step that may not follow the `.rehearse()` before it. Nothing if it may, or if
/// there is no `.rehearse()`.
std::optional<Problem> rehearsal_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

/// Whether the step is a `.rehearse()` that records the results of the steps before it.
bool rehearses_here(const OpSpec& op, const Catalog& catalog);

/// Whether the step runs a function of the user's without a version. A later run could not tell
/// whether that function has changed.
bool is_unversioned(const OpSpec& op, const Catalog& catalog);

/// Whether the step gives different results in each epoch because it draws random numbers.
bool is_random_step(const OpSpec& op, const Catalog& catalog);
/// Whether user code gets the number of the epoch (`epoch=True`), so that its results may depend on
/// it.
bool follows_epoch(const OpSpec& op);
/// The problem of a cache, filter or pack after a step that follows the epoch: the results of one
/// epoch would be used for all epochs.
std::optional<Problem> epoch_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog);

}  // namespace forebay
