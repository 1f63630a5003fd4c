#pragma once

#include <optional>
#include <vector>

#include "base/schema.h"
#include "forebay/problem.h"

namespace forebay {

class Catalog;
struct OpSpec;

/// Problems of a `.batch()` at `step` with samples of the schema `before`: rows of a field may
/// differ in shape, and are to be stacked. None if a function gets the samples one by one. Empty
/// for other steps.
std::vector<Problem> stacking_problems(const std::vector<OpSpec>& steps, size_t step, const Schema& before,
                                       const Catalog& catalog);

/// True if a `.pack()` makes other blocks in each epoch, of samples as they come. Otherwise their
/// lengths decide the blocks once. Behind parts it makes them anew (branches_of() says so).
bool packs_each_epoch(const OpSpec& pack);

/// The problem of a step at `step` that stands behind a `.pack()` and cannot work on its blocks.
/// They are samples of one shape that only exist in a batch: operators on columns change them there,
/// and user code gets each. `behind`: the schema after the step.
std::optional<Problem> block_step_problem(const std::vector<OpSpec>& steps, size_t step, const Schema& behind,
                                          const Catalog& catalog);

/// Problems with a step at `step` that works on whole batches. Empty for other steps.
std::vector<Problem> batch_function_problems(const std::vector<OpSpec>& steps, size_t step, const Schema& before,
                                             const Catalog& catalog);

}  // namespace forebay
