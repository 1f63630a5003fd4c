#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/columns.h"
#include "pipeline/chunk.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// What decoding a chunk takes.
struct ChunkNeeds {
  uint64_t together = 0;  ///< bytes of memory for the rows, rounded so that memory of one chunk fits others
  uint64_t apart = 0;     ///< of rows outside of it
  uint64_t working = 0;   ///< beyond the thread's own
};

/// What is done with the chunks of a plan, without schedule or lock: where their bytes are, what decoding them takes, and decoding.
/// Only for plans that have chunks.
class ChunkWork {
 public:
  explicit ChunkWork(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

  /// Where the chunk's bytes are: in the cache, or else at the source. A cache counts how often it is asked.
  ChunkPlace look_up(int64_t number) const;
  /// `more`: working memory that an earlier try asked for.
  ChunkNeeds needs(int64_t number, const Chunk::Read& input, uint64_t more) const;
  struct Made {
    Result<std::shared_ptr<const Columns>> rows;
    bool cold = false;  ///< its bytes are not at hand: they have to be read without a thread that waits
  };
  /// Never throws. `rows`: memory for them, of ChunkNeeds::together bytes.
  Made make(int64_t number, const Chunk::Read& input, const Buffer& rows, WorkMemory& memory) const;

 private:
  Result<std::shared_ptr<const Columns>> decode(int64_t number, const Chunk::Read& input, const Buffer& rows,
                                                WorkMemory& memory, bool* cold) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
};

/// Bytes that those requests bring.
uint64_t bytes_of(const std::vector<ReadRequest>& requests);

}  // namespace forebay
