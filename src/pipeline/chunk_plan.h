#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/entry_cache.h"
#include "pipeline/operator.h"
#include "pipeline/packed_rows.h"
#include "telemetry/step_counters.h"

namespace forebay {

/// One operator that runs on whole chunks.
struct ChunkOp {
  std::string name;
  std::unique_ptr<ColumnOp> op;
  std::shared_ptr<StepCounters> counters;
  /// What it makes at most beside what it was given: of a row in fields of known shape, and of lists as a multiple of the chunk's.
  uint64_t made_row_bytes = 0, list_growth = 0;
};

/// What is done with the chunks of a source of many rows before single rows are taken out of them. Immutable.
struct ChunkPlan {
  std::shared_ptr<const ChunkSource> source;
  std::vector<ChunkOp> ops;
  /// What leaves the first `cached_after` operators is kept in `cache`, if there is one.
  std::shared_ptr<EntryCache> cache;
  size_t cached_after = 0;
  Hash128 cache_place;
  PackedRows packed{Schema()};  ///< how the rows lie in memory after the last operator
  /// Rows go straight from chunks into batches: no operator looks at single rows.
  bool gathers_rows = false;
  /// What the rows are, whatever chunk they are of: with the chunk's own identity, what others in the process can have them by.
  /// Nothing where they are not to be shared.
  std::optional<Hash128> place = {};
  std::shared_ptr<StepCounters> decode_counters = std::make_shared<StepCounters>();

  /// The packed form itself is what is cached.
  bool caches_packed() const { return cached_after == ops.size(); }
  std::optional<Hash128> entry(int64_t chunk) const;
  /// Of the chunk's rows as they come out at the end. Nothing for chunks that are in memory before.
  std::optional<Hash128> identity(int64_t chunk) const;
  /// Stored bytes → rows, packed into `rows` (at least packed.packed_bytes()).
  Result<std::shared_ptr<const Columns>> make(int64_t chunk, std::vector<Buffer> stored, Buffer rows,
                                              WorkMemory& memory) const;
  /// The same from what the cache had.
  Result<std::shared_ptr<const Columns>> finish(std::shared_ptr<const Columns> cached, Buffer rows,
                                                WorkMemory& memory) const;

 private:
  Status run(size_t begin, size_t end, Columns& columns, WorkMemory& memory) const;
};

}  // namespace forebay
