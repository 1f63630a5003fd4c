#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_count.h"
#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/problem.h"
#include "pipeline/collate.h"
#include "pipeline/itinerary.h"

namespace forebay {

struct ChunkOp;

/// Meaning of the elements of a field of blocks.
enum class BlockValue : uint8_t {
  kElements,   ///< the elements of the sequences
  kSegments,   ///< int32: number of the sequence in its block, from 1 on; 0 for padding
  kPositions,  ///< int32: position in the segment, from 0 on; 0 for padding
};

/// A field of blocks.
struct BlockField {
  std::string name;
  BlockValue value = BlockValue::kElements;
  size_t output = 0;      ///< index of the plan's output whose rows it is made of
  size_t item_bytes = 8;  ///< most bytes of an element; user code decides the type of its numbers
  // For kElements:
  int64_t shift = 0;  ///< the element at i is the segment's element at i + shift
  double pad = 0;     ///< value after the last sequence of a block, and where the shift leaves none
  /// Value of the element that is appended to each sequence (PackingStep::appends). If empty, the
  /// last element of the sequence is repeated.
  std::optional<double> appended = {};
};

/// Describes the fields with the ends of a block's segments.
struct SegmentEnds {
  std::string ends = "cu_seqlens", longest = "max_seqlen";  ///< names of the fields
  int64_t entries = 0;  ///< length of `ends` in every block; 0: as many as the block has
};

/// The sequences of a branch, of which packed blocks are made.
struct PackedSequences {
  int64_t block_length = 0;
  /// They include what is appended, and are by index in the branch's selection. `owner` has them.
  std::span<const uint32_t> lengths = {};
  std::shared_ptr<const void> owner = nullptr;
  double pieces_per_block = 1;  ///< mean number of parts of sequences in a block of this branch alone
  /// The first elements of a sequence that is longer than a block are left out.
  bool cut_left = false;
  /// A block has samples of any branch, and is made anew in each epoch.
  bool shared = false;

  /// Index of the first element of a sequence that is packed.
  int64_t first_of(int64_t sequence) const {
    const int64_t length = lengths[static_cast<size_t>(sequence)];
    return cut_left ? std::max<int64_t>(length - block_length, 0) : 0;
  }
};

/// Describes how sequences become blocks (OpEffect::kPacking).
struct PackingStep {
  PackedSequences sequences;
  std::vector<BlockField> fields;
  bool appends = false;  ///< one element is appended to each sequence before it is packed
  std::optional<SegmentEnds> segment_ends = {};
  /// Operators on the finished blocks of a batch, whose fields are columns then.
  std::vector<std::shared_ptr<const ChunkOp>> ops = {};
  Schema made = {};  ///< fields after `ops`
  /// Bytes of so many blocks with `rows` parts of sequences, and of what `ops` make.
  ByteCount bytes(int64_t blocks, int64_t rows) const;
  /// The second part of that.
  ByteCount op_bytes(int64_t blocks, int64_t rows) const;
  /// Length of a sequence before an element was appended.
  int64_t given_length(int64_t sequence) const {
    return int64_t{sequences.lengths[static_cast<size_t>(sequence)]} - (appends ? 1 : 0);
  }
};

/// Whether a field may be dropped when another field is packed. Only a key may: it is a name for
/// people, and all other fields are data.
bool is_droppable(const std::string& name, FieldKind kind);
/// The problem of samples with fields `names` in addition to the `packed` ones, which blocks would
/// lose, and to those of limits=.
Problem dropped_fields_problem(const std::vector<std::string>& packed, const std::vector<std::string>& limited,
                               const std::vector<std::string>& names);

/// The problem of a field of blocks of this type that cannot hold the numbers which the step adds.
/// `from`: name of the packed field of which it is made.
std::optional<Problem> number_problem(const BlockField& field, const std::string& from, DType type);

/// Destination of a row (a part of a sequence) in the blocks of its batch. The row writes its
/// elements, and padding up to the next row.
struct BlockRow {
  int64_t begin = 0, end = 0;  ///< range of elements in the field, counted over all blocks
  int64_t count = 0;           ///< elements of the row, without padding
  int32_t segment = 0;
  bool appended = false;  ///< the last of its elements is the appended one
};

/// The destinations of all rows of a step.
std::vector<BlockRow> rows_in_blocks(const StepPlan& step, int64_t length);

/// Writes some rows of a field of blocks. `bytes`: the elements of each row without the appended
/// one. A row of the appended element alone has the element before it. A skipped row has no bytes,
/// and becomes padding. `type` is the type of the sequences' elements.
void write_blocks(const BlockField& field, DType type, std::span<const BlockRow> rows, std::span<const RowBytes> bytes,
                  uint8_t* values);

}  // namespace forebay
