#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/columns.h"
#include "pipeline/branch_plan.h"
#include "pipeline/chunk.h"
#include "pipeline/chunk_memory.h"
#include "pipeline/stored_bytes.h"

namespace forebay {

/// The work on the chunks of a plan: finding their bytes, estimating the memory they need, and
/// decoding them. Chunks calls look_up() and needs() with the run's lock held, and make() on a
/// compute thread without it. It has no state but the plan, so any thread may call it. Only for
/// plans with chunks.
class ChunkWork {
 public:
  explicit ChunkWork(std::shared_ptr<const BranchPlan> plan) : plan_(std::move(plan)) {}

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
  /// ChunkNeeds::packed bytes. Stored bytes that the thread reads itself are released afterwards.
  Made make(int64_t number, StoredBytes& bytes, const Buffer& rows, WorkMemory& memory) const;

 private:
  Made read_and_decode(int64_t number, StoredBytes& bytes, const Buffer& rows, WorkMemory& memory) const;
  Result<std::shared_ptr<const Columns>> decode(int64_t number, const StoredBytes& bytes, std::vector<Buffer> stored,
                                                const Buffer& rows, WorkMemory& memory) const;

  const std::shared_ptr<const BranchPlan> plan_;
};

}  // namespace forebay
