#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "pipeline/branch_plan.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the fields that a `.pack()` puts into blocks.
std::vector<std::string> packed_fields(const OpSpec& pack);
/// Returns the fields that tell what a row costs of the step's further budgets.
std::vector<std::string> limited_fields(const OpSpec& pack);

/// The rows of a selection, in its order, as a pass has measured them. All figures of a sample that
/// is left out are 0.
struct MeasuredRows {
  std::vector<uint32_t> lengths;
  std::vector<std::vector<uint32_t>> costs;  ///< for each of limited_fields(), of each row
};

/// Assigns the rows of a selection to blocks as the step says. InvalidArgument, with the sample, for
/// a row that is longer, or costs more, than the step allows.
Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, MeasuredRows rows, const Source& source,
                                                 const Selection& selection);

/// Returns the description of the packing that the runner needs. `outputs`: the fields of samples.
PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks,
                       const std::vector<OutputField>& outputs);

/// Returns a text that differs for packings with different lengths.
std::string version_of(const Packing& packing);

}  // namespace forebay
