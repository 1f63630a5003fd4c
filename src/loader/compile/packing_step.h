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

/// Assigns the rows of a selection to blocks as the step says. `lengths` follows the order of the
/// selection, and may hold 0 for samples that are left out. InvalidArgument, with the sample, for a
/// row that is longer than the step allows.
Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, std::vector<uint32_t> lengths,
                                                 const Source& source, const Selection& selection);

/// Returns the description of the packing that the runner needs. `outputs`: the fields of samples.
PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks,
                       const std::vector<OutputField>& outputs);

/// Returns a text that differs for packings with different lengths.
std::string version_of(const Packing& packing);

}  // namespace forebay
