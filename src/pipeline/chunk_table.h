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

/// Location of a row: the index of a chunk in its block, and the row in that chunk.
struct RowInBlock {
  size_t chunk = 0;
  int64_t row = 0;
};

/// A block: chunks of one lane whose rows are mixed. All of them are needed until the last position
/// of the block has been processed, since each of its positions may have a row of any of them. The
/// table and the batches that need the block share it; the run's lock guards it.
struct ChunkBlock {
  size_t branch = 0;
  int64_t epoch = 0;  ///< pass of the branch's order
  Order::Range range;
  std::vector<std::shared_ptr<Chunk>> chunks;  ///< by number
  std::vector<int64_t> begins, ends;           ///< ids of each chunk: [begins[i], ends[i])
  bool open = true;                            ///< batches that are not planned yet may need it
  bool retained = false;                       ///< counted in Chunk::holders of its chunks
  bool replayed = false;  ///< of a replayed sample; it is not in the table but belongs to one batch
  int64_t users = 0;      ///< tasks that need it

  int64_t last_position() const { return range.first + range.step * (range.count - 1); }
  bool ready() const;
  bool has_bad_rows() const;  ///< once it is ready
  bool has_chunk(const Chunk& chunk) const;
  /// Whether row `id` is in one of its chunks.
  bool has_row(int64_t id) const;
  /// The location of row `id`, which has to be in one of its chunks.
  RowInBlock locate(int64_t id) const;
  void add(std::shared_ptr<Chunk> chunk, int64_t begin, int64_t end);
};
using ChunkBlockPtr = std::shared_ptr<ChunkBlock>;

/// The blocks and chunks that a branch of a run needs, and the number of users of each. Owned by
/// Chunks and guarded by the run's lock. A chunk leaves the table when the last block that holds it
/// is released.
class ChunkTable {
 public:
  /// `order` and `begins` are those of the branch. `begins`: the first id of each chunk, and the
  /// end of the last.
  ChunkTable(size_t branch, std::shared_ptr<const Order> order, std::vector<int64_t> begins);

  /// The block with the rows at that position. It is created if necessary, and open until
  /// close_before().
  ChunkBlockPtr block_at(int64_t epoch, int64_t position);
  /// The next block in the same lane. After the last block of an epoch, the first one of the next
  /// epoch.
  ChunkBlockPtr block_after(const ChunkBlock& block);
  /// Closes the blocks that end before this position: no further row of them is planned.
  void close_before(int64_t epoch, int64_t position);
  void add_user(const ChunkBlockPtr& block);
  /// Chunks that no block needs any more. The caller releases their memory.
  using Freed = std::vector<std::shared_ptr<Chunk>>;
  /// Removes one user. If the block was closed and this was its last user, chunks that no other
  /// block needs are appended to `freed`.
  void remove_user(const ChunkBlockPtr& block, Freed& freed);
  /// A block with the chunks of `block` and those of rows `ids`, for replacements from other
  /// chunks.
  ChunkBlockPtr widened(const ChunkBlock& block, const std::vector<int64_t>& ids);
  /// A block of that chunk alone, for replayed samples. It holds the chunk only while it has users.
  ChunkBlockPtr block_of_replayed(int64_t chunk) const;
  int64_t chunk_of(int64_t id) const;
  /// Removes closed blocks without users.
  void remove_unused(Freed& freed);
  /// Uses another order from here on, for blocks that are made later. The table must be clear.
  void set_order(std::shared_ptr<const Order> order) { order_ = std::move(order); }
  /// Closes all blocks and removes those without users.
  void clear(Freed& freed);

  const std::map<std::pair<int64_t, int64_t>, ChunkBlockPtr>& blocks() const { return blocks_; }
  const std::unordered_map<int64_t, std::shared_ptr<Chunk>>& chunks() const { return chunks_; }

 private:
  void add_chunk(ChunkBlock& block, int64_t number);
  void retain(ChunkBlock& block);
  void release(ChunkBlock& block, Freed& freed);

  const size_t branch_;
  std::shared_ptr<const Order> order_;
  const std::vector<int64_t> begins_;
  std::unordered_map<int64_t, std::shared_ptr<Chunk>> chunks_;
  std::map<std::pair<int64_t, int64_t>, ChunkBlockPtr> blocks_;  // by epoch and first position
};

}  // namespace forebay
