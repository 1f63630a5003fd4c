#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "pipeline/branch_plan.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the field that a `.pack()` puts into blocks.
std::string packed_field(const OpSpec& pack);

/// Assigns the rows of a selection to blocks as the step says. `lengths` follows the order of the
/// selection. `chunks` is null if samples are read one by one.
Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, std::vector<uint32_t> lengths,
                                                 const ChunkSource* chunks, const Selection& selection);

/// Returns the description of the packing that the runner needs.
PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks);

/// Returns a text that differs for packings with different lengths.
std::string version_of(const Packing& packing);

}  // namespace forebay
