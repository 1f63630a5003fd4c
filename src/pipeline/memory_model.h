#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_count.h"
#include "pipeline/branch_plan.h"

namespace forebay {

/// Settings of a run that decide how much memory its plan needs.
struct RunShape {
  int64_t rows = 1;           ///< rows of a batch: replayed ones too, and all rows of packed blocks
  int64_t replayed_rows = 0;  ///< part of `rows`
  int64_t packed_blocks = 0;  ///< blocks of a batch, if rows are packed
  int64_t block = 1;          ///< chunks that are mixed in each lane
  int64_t lanes = 1;          ///< lanes of chunks that are read
  int threads = 1;
  uint64_t classes = 0;  ///< bytes of the results of a pass over the data set, without its index

  /// Chunks in memory together: those that are mixed, and in each lane one more that is being read.
  int64_t chunks_mixed() const { return lanes * (block + 1); }
};

/// Sum of the `count` largest of some sizes, which are sorted in descending order: the worst case
/// for so many objects in memory together.
ByteCount sum_of_largest(const std::vector<uint64_t>& largest_first, int64_t count);

/// Bytes that a run needs to make its oldest batch, by purpose.
struct MemoryNeeds {
  ByteCount batch;    ///< its rows in fields of known shape, or its packed blocks
  ByteCount values;   ///< values of unknown shape, in rows and in the batch; their offsets and padding
  ByteCount data;     ///< the stored bytes of a sample, or the rows of the chunks that are mixed
  ByteCount working;  ///< to work on a sample or to decode a chunk, beyond what threads keep
  ByteCount threads;  ///< working memory that the compute threads keep
  ByteCount index;    ///< of the data set and of cache entries, and classes

  ByteCount sum() const { return batch + values + data + working + threads + index; }

  // Sizes behind these sums, for choices about work ahead of the oldest batch:
  uint64_t mean_stored = 0, largest_stored = 0;  ///< stored bytes of a sample
  std::vector<uint64_t> chunks;                  ///< bytes of each chunk's rows, the largest first
  int64_t chunks_mixed = 0;                      ///< chunks in memory together

  /// Adds the needs of another branch whose rows are in the same batches.
  MemoryNeeds& operator+=(const MemoryNeeds& branch);
};

/// The memory that a branch of an execution plan needs. All formulas about it are here, in
/// ChunkMemory, and in BranchPlan::batch_bytes(). Sizing, the amount that is enough for any batch,
/// and the errors of runs that lack memory use them. A model is immutable and cheap to copy. It
/// refers to the plan, which must outlive it. Any thread may call it.
///
/// A need is expected, or enough for any batch. Sizes are chosen by what is expected. What is
/// enough holds for any order of rows and any speed of storage and threads, and OutOfBudget advises
/// it. No part of it is less than what is expected.
class MemoryModel {
 public:
  explicit MemoryModel(const BranchPlan& plan, const RunShape& shape = {});

  const RunShape& shape() const { return shape_; }
  /// Looks at some hundred samples, or at every chunk.
  MemoryNeeds expected() const { return needs(Estimate::kExpected); }
  /// Looks at every sample or chunk. It assumes that a picture needs at most 16 times its stored
  /// bytes to be decoded (4 MiB at least), and that user code makes what its fields announce. Only
  /// a run can tell.
  MemoryNeeds most() const { return needs(Estimate::kMost); }

  /// Working memory that each compute thread keeps, if `left` bytes remain beside one batch and one
  /// sample.
  uint64_t thread_bytes(uint64_t left = UINT64_MAX) const;
  /// Lower bound of the bytes that the values of these samples take until their batch is made,
  /// without the fields of known shape. It is computed without reading the samples. Not for plans
  /// with chunks.
  ByteCount certain_values(std::span<const int64_t> ids) const;

 private:
  enum class Estimate : uint8_t { kExpected, kMost };

  // Values of unknown shape in the chunks or samples that were examined.
  struct Values {
    std::vector<uint64_t> bytes;  // of each chunk or sample
    int64_t samples;              // number of samples in them
    int64_t max_in_batch;         // most chunks or samples with rows in one batch
  };
  void add_unsized(const Field& field);
  MemoryNeeds needs(Estimate estimate) const;
  Values estimate_chunks(Estimate estimate, MemoryNeeds& needs) const;
  Values estimate_samples(Estimate estimate, MemoryNeeds& needs) const;
  ByteCount values(Estimate estimate, Values found) const;
  ByteCount with_copies(ByteCount values, uint64_t rows, bool referred) const;
  ByteCount padding(ByteCount longest_row) const;
  ByteCount indexed_values(int64_t id) const;
  uint64_t stored_bytes(int64_t id) const;
  ByteCount packed_blocks() const;
  int64_t chunks_in_batch() const;

  const BranchPlan* plan_;
  RunShape shape_;
  bool works_on_pictures_ = false;
  // Outputs whose rows are not written directly into the batch:
  uint64_t unsized_ = 0;       // their number
  uint64_t string_lists_ = 0;  // number of lists of strings
  uint64_t as_stored_ = 0;     // number that are the stored bytes
  uint64_t like_stored_ = 0;   // number that are assumed to be as large as the stored bytes
  uint64_t pictures_ = 0;      // number of decoded pictures
  uint64_t shaped_bytes_ = 0;  // bytes of a row in those of known shape, which are padded
  bool from_index_ = false;    // the source has some of them without a read
};

}  // namespace forebay
