#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/problem.h"
#include "pipeline/collate.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// Meaning of the elements of a field of blocks.
enum class BlockValue : uint8_t {
  kElements,   ///< the elements of the sequences
  kSegments,   ///< int32: number of the sequence in its block, from 1 on; 0 for padding
  kPositions,  ///< int32: position in the sequence; 0 for padding
};

/// Describes how sequences become blocks (OpEffect::kPacking).
struct PackingStep {
  std::shared_ptr<const Packing> blocks;
  std::string segments, positions;  ///< names of these fields
  double pad = 0;                   ///< value of elements after the last sequence of a block
};

/// Whether a field may be dropped when another field is packed. Only a key may: it is a name for
/// people, and all other fields are data.
bool is_droppable(const std::string& name, FieldKind kind);
/// The problem of samples with fields `names` in addition to the `packed` one, which blocks would
/// lose.
Problem dropped_fields_problem(const std::string& packed, const std::vector<std::string>& names);

/// Destination of a row (a part of a sequence) in the blocks of its batch. The row writes its
/// elements, and padding up to the next row.
struct BlockRow {
  int64_t begin = 0, end = 0;  ///< range of elements in the field, counted over all blocks
  int64_t from = 0;            ///< index in the sequence of the row's first element
  int32_t segment = 0;
};

/// The destinations of all rows of a step.
std::vector<BlockRow> rows_in_blocks(const StepPlan& step, int64_t length);

/// Writes some rows of a field of blocks. A skipped row is empty and becomes padding. `type` is the
/// type of the sequences' elements.
void write_blocks(BlockValue value, DType type, double pad, std::span<const BlockRow> rows,
                  std::span<const RowBytes> bytes, uint8_t* values);

}  // namespace forebay
