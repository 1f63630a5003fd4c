#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/columns.h"
#include "pipeline/chunk.h"
#include "pipeline/chunk_memory.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// The work on the chunks of a plan: finding their bytes, estimating the memory they need, and
/// decoding them. It knows no schedule and takes no lock, so any thread may call it. Only for plans
/// with chunks.
class ChunkWork {
 public:
  explicit ChunkWork(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

  /// Finds the chunk's bytes, in the cache or else in the source. A cache counts look-ups, so
  /// callers reuse the result.
  ChunkPlace look_up(int64_t number) const;
  /// `more`: working memory that an earlier attempt asked for.
  ChunkNeeds needs(int64_t number, const Chunk::Read& input, uint64_t more) const;
  struct Made {
    Result<std::shared_ptr<const Columns>> rows;
    bool cold = false;  ///< the bytes are not in the page cache; read them asynchronously
  };
  /// Makes the rows of a chunk on a compute thread. Never throws. `rows` is memory of
  /// ChunkNeeds::together bytes.
  Made make(int64_t number, const Chunk::Read& input, const Buffer& rows, WorkMemory& memory) const;

 private:
  Result<std::shared_ptr<const Columns>> decode(int64_t number, const Chunk::Read& input, const Buffer& rows,
                                                WorkMemory& memory, bool* cold) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
};

/// Bytes that those requests read.
uint64_t bytes_of(const std::vector<ReadRequest>& requests);

}  // namespace forebay
