#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/entry_cache.h"
#include "pipeline/column_op.h"
#include "pipeline/packed_rows.h"
#include "telemetry/step_counters.h"

namespace forebay {

/// One operator that runs on whole chunks, or on the packed blocks of a batch.
struct ChunkOp {
  std::string name;
  std::unique_ptr<ColumnOp> op;
  std::shared_ptr<StepCounters> counters;
  // Upper bounds of the memory of its output, in addition to that of its input:
  uint64_t made_row_bytes = 0;  ///< bytes of a row in fields of known shape
  uint64_t list_growth = 0;     ///< bytes of lists, as a multiple of the chunk's lists

  /// Runs the operator and counts its work.
  Status run(Columns& columns, WorkMemory& memory) const;
};

/// The part of an BranchPlan that runs on whole chunks: decoding, column operators, a cache, and
/// packing. Immutable; ChunkWork calls it on any number of compute threads.
struct ChunkPlan {
  std::shared_ptr<const ChunkSource> source;
  std::vector<ChunkOp> ops;
  /// Stores the output of the first `cached_after` operators. Null if the pipeline has no such
  /// cache.
  std::shared_ptr<EntryCache> cache;
  size_t cached_after = 0;
  /// Identity of the steps before the cache, and of the form of its entries.
  Hash128 cache_identity;
  PackedRows packed{Schema()};  ///< memory layout of the rows after the last operator
  /// Rows are copied directly from chunks into batches, since no operator runs on single rows.
  bool gathers_rows = false;
  /// Identity of the steps and fields that decide the rows. Together with the chunk's identity it
  /// is the key under which runs of this process share rows. Nothing if rows are not shared.
  std::optional<Hash128> rows_identity = {};
  std::shared_ptr<StepCounters> decode_counters = std::make_shared<StepCounters>();

  /// Whether cache entries hold rows in packed form.
  bool caches_packed() const { return cached_after == ops.size(); }
  /// Key of the chunk's cache entry. Nothing if the chunk is not cached.
  std::optional<Hash128> cache_key(int64_t chunk) const;
  /// Key under which the chunk's finished rows are shared. Nothing for chunks that the source has
  /// in memory.
  std::optional<Hash128> sharing_key(int64_t chunk) const;
  /// Decodes stored bytes, runs the operators, and packs the rows into `rows`, which has at least
  /// packed.packed_bytes().
  Result<std::shared_ptr<const Columns>> make(int64_t chunk, std::vector<Buffer> stored, Buffer rows,
                                              WorkMemory& memory) const;
  /// Like make(), from the cache entry of a chunk.
  Result<std::shared_ptr<const Columns>> finish(std::shared_ptr<const Columns> cached, Buffer rows,
                                                WorkMemory& memory) const;

 private:
  Status run(size_t begin, size_t end, Columns& columns, WorkMemory& memory) const;
};

}  // namespace forebay
