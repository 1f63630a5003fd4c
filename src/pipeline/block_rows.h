#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/pipeline.h"
#include "pipeline/collate.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// What an element of a field of blocks says.
enum class BlockValue : uint8_t {
  kElements,   ///< the sequences themselves
  kSegments,   ///< int32: which of the block's sequences it is of, from 1 on; 0: none
  kPositions,  ///< int32: its place in its sequence; 0 where there is none
};

/// How sequences become blocks; see OpDef::role kPack.
struct PackingStep {
  std::shared_ptr<const Packing> blocks;
  std::string segments, positions;  ///< names of these fields
  double pad = 0;                   ///< where no sequence stands
};

/// Whether a field may be left out where another is packed: a key is a name for people, every other field is data.
bool may_be_lost(const std::string& name, FieldKind kind);
/// The problem of samples that have these fields beside the `packed` one, which blocks would lose.
Problem lost_beside_blocks(const std::string& packed, const std::vector<std::string>& names);

/// A row of a step on its way into its block: it writes all up to the next one.
struct BlockRow {
  int64_t begin = 0, end = 0;  ///< elements of the field, its blocks end to end
  int64_t from = 0;            ///< its first element, of its sequence
  int32_t segment = 0;
};

/// Where the rows of a step go.
std::vector<BlockRow> rows_in_blocks(const StepPlan& step, int64_t length);

/// Writes some rows of a field of blocks. An empty row is one that was left out: there is padding in its place. `type` says of what
/// kElements are.
void write_blocks(BlockValue value, DType type, double pad, std::span<const BlockRow> rows,
                  std::span<const RowBytes> bytes, uint8_t* values);

}  // namespace forebay
