#pragma once

#include <cstdint>
#include <memory>

#include "base/columns.h"
#include "pipeline/chunk.h"
#include "pipeline/chunk_memory.h"
#include "pipeline/execution_plan.h"
#include "pipeline/stored_bytes.h"

namespace forebay {

/// The work on the chunks of a plan: finding their bytes, estimating the memory they need, and
/// decoding them. It knows no schedule and takes no lock, so any thread may call it. Only for plans
/// with chunks.
class ChunkWork {
 public:
  explicit ChunkWork(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

  /// Finds the chunk's bytes, in the cache or else in the source. Does nothing if they were looked
  /// up before.
  void look_up(int64_t number, StoredBytes& bytes) const;
  /// `more`: working memory that an earlier attempt asked for.
  ChunkNeeds needs(int64_t number, const StoredBytes& bytes, uint64_t more) const;
  struct Made {
    Result<std::shared_ptr<const Columns>> rows;
    bool page_cache_miss = false;  ///< the bytes have to be read asynchronously
  };
  /// Makes the rows of a chunk on a compute thread. Never throws. `rows` is memory of
  /// ChunkNeeds::packed bytes. If the thread reads the stored bytes, it does not keep them.
  Made make(int64_t number, StoredBytes& bytes, const Buffer& rows, WorkMemory& memory) const;

 private:
  Result<std::shared_ptr<const Columns>> decode(int64_t number, StoredBytes& bytes, const Buffer& rows,
                                                WorkMemory& memory, bool* page_cache_miss) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
};

}  // namespace forebay
