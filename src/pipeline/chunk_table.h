#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pipeline/chunk.h"
#include "plan/order.h"

namespace forebay {

/// Where a row is: which of its block's chunks, and row inside that.
struct RowInBlock {
  size_t chunk = 0;
  int64_t row = 0;
};

/// Chunks whose rows are mixed: a row of one of them may be the next at any time until the last position is behind.
struct ChunkBlock {
  int64_t epoch = 0;
  Order::Range range;
  std::vector<std::shared_ptr<Chunk>> chunks;  ///< by number
  std::vector<int64_t> begins, ends;           ///< first id of each, and the one behind its last
  bool open = true;                            ///< rows of it are still to be planned
  bool held = false;                           ///< its chunks are wanted
  bool old = false;                            ///< of old samples, which stand in no order: nobody but a batch has it
  int64_t users = 0;                           ///< tasks that will need it, or do

  int64_t last_position() const { return range.first + range.step * (range.count - 1); }
  bool ready() const;
  bool has_bad_rows() const;  ///< once it is ready
  bool has(const Chunk& chunk) const;
  /// Whether row `id` is in one of its chunks; and where, if it is.
  bool holds(int64_t id) const;
  RowInBlock place(int64_t id) const;
  void add(std::shared_ptr<Chunk> chunk, int64_t begin, int64_t end);
};
using ChunkBlockPtr = std::shared_ptr<ChunkBlock>;

/// Which chunks are needed by whom. Guarded by its owner's lock.
class ChunkTable {
 public:
  /// `begins`: first id of each chunk, and the end of the last.
  ChunkTable(std::shared_ptr<const Order> order, std::vector<int64_t> begins);

  /// The block whose rows stand at that position, made if it is not there. It is open until close_before().
  ChunkBlockPtr block_at(int64_t epoch, int64_t position);
  /// The block that follows in the same lane, of the next epoch after the last one.
  ChunkBlockPtr block_after(const ChunkBlock& block);
  /// From now on no row before this position is planned.
  void close_before(int64_t epoch, int64_t position);
  void add_user(const ChunkBlockPtr& block);
  /// Chunks that nobody needs any more are appended to `freed`: the owner gives back what was charged for them.
  using Freed = std::vector<std::shared_ptr<Chunk>>;
  void remove_user(const ChunkBlockPtr& block, Freed& freed);
  /// The same block with the chunks of some other rows beside its own: for replacements that come from elsewhere.
  ChunkBlockPtr widened(const ChunkBlock& block, const std::vector<int64_t>& ids);
  /// A block of that chunk alone, for old samples. Its chunk is only wanted while it has users.
  ChunkBlockPtr block_of_old(int64_t chunk) const;
  int64_t chunk_of(int64_t id) const;
  /// Collects what close_before() left without users.
  void sweep(Freed& freed);
  /// Forgets blocks that nobody uses, open or not.
  void clear(Freed& freed);

  const std::map<std::pair<int64_t, int64_t>, ChunkBlockPtr>& blocks() const { return blocks_; }
  const std::unordered_map<int64_t, std::shared_ptr<Chunk>>& chunks() const { return chunks_; }

 private:
  void add_chunk(ChunkBlock& block, int64_t number);
  void hold(ChunkBlock& block);
  void let_go(ChunkBlock& block, Freed& freed);

  const std::shared_ptr<const Order> order_;
  const std::vector<int64_t> begins_;
  std::unordered_map<int64_t, std::shared_ptr<Chunk>> chunks_;
  std::map<std::pair<int64_t, int64_t>, ChunkBlockPtr> blocks_;  // by epoch and first position
};

}  // namespace forebay
