#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "pipeline/branch_plan.h"
#include "pipeline/description.h"
#include "plan/packed_windows.h"
#include "plan/packing.h"

namespace forebay {

/// Returns the fields that a `.pack()` puts into blocks.
std::vector<std::string> packed_fields(const OpSpec& pack);
/// Returns the fields that tell what a row costs of the step's further budgets.
std::vector<std::string> limited_fields(const OpSpec& pack);

/// Returns the sizes with which the rows of a selection, in its order, go into blocks: with what is
/// appended, and without the rows that the step leaves out. InvalidArgument, with the sample, for a row
/// that is longer, or costs more, than the step allows. `measured`: as a pass has measured them, the
/// costs for each of limited_fields().
Result<SequenceSizes> packed_sizes(const OpSpec& pack, SequenceSizes measured, const Source& source,
                                   const Selection& selection);

/// Assigns the rows of a selection to blocks as the step says. The rows of a chunk share blocks with
/// each other alone.
Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, SequenceSizes sizes, const Source& source,
                                                 const Selection& selection);
PackedSequences sequences_of(const OpSpec& pack, const std::shared_ptr<const Packing>& packing);

/// The step of a plan whose blocks have samples of all branches, made anew in each epoch; null if
/// there is none. `branch`: the description of any branch.
const OpSpec* shared_packing(const Description& branch);
/// Returns how such a step packs the samples of a plan. `mixed_rows`: the rows that are in memory
/// together, of data that is read in chunks; 0: samples are read one by one. By default they bound the
/// window.
PackedWindowsOptions window_options(const OpSpec& pack, int64_t mixed_rows);
PackedSequences sequences_of(const OpSpec& pack, const std::shared_ptr<const SequenceSizes>& sizes);

/// Returns the description of the packing that the runner needs. `outputs`: the fields of samples.
PackingStep packing_of(const OpSpec& pack, PackedSequences sequences, const std::vector<OutputField>& outputs);

/// Returns a text that differs for packings with different lengths.
std::string version_of(const Packing& packing);
/// The same for the lengths of samples, which decide blocks that are made anew in each epoch.
std::string version_of(std::span<const uint32_t> lengths);

}  // namespace forebay
