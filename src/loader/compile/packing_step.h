#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// The field that a `.pack()` puts into blocks.
std::string packed_field(const OpSpec& pack);

/// Rows of these lengths (of a selection, in its order) in blocks, as the step says. `chunks`: null where samples are read one by one.
Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, std::vector<uint32_t> lengths,
                                                 const ChunkSource* chunks, const Selection& selection);

/// What the runner has to know of it.
PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks);

/// Tells packings of other lengths apart.
std::string version_of(const Packing& packing);

/// What `blocks` blocks take, all fields of theirs.
uint64_t packed_bytes(const ExecutionPlan& plan, int64_t blocks);

}  // namespace forebay
