#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/shared_chunks.h"
#include "pipeline/chunk_table.h"
#include "pipeline/chunk_work.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/waits.h"

namespace forebay {

/// Gets bytes for somebody by taking them away from those who are younger.
class RoomMaker {
 public:
  /// For `bytes` that are lacking. True when asking for them again makes sense now; otherwise something has to end first.
  virtual bool make_room(uint64_t bytes) = 0;

 protected:
  ~RoomMaker() = default;
};

/// The chunks (row groups) of a run: fetched, decoded, kept as long as a block with rows of them is open or used, and offered to other
/// runs that read the same. Knows no batches and no tasks. Guarded by the run's lock.
class Chunks {
 public:
  /// Who asks for a block.
  struct Asker {
    uint64_t order = 0;           ///< on the compute threads
    bool ahead = false;           ///< for later: what the batches of the window need is left alone
    RoomMaker* others = nullptr;  ///< who gives way to it; null: nobody
  };

  /// Only for plans that have chunks. `is_due`: whether the batch that is delivered next needs rows of a chunk.
  Chunks(RunCore& core, std::shared_ptr<SharedChunks> shared, std::function<bool(const Chunk&)> is_due);

  ChunkTable& table() { return table_; }
  /// Moves on every chunk of the block that can be. False where bytes are lacking, so that nothing younger may take any.
  bool move_on(const ChunkBlock& block, const Asker& asker, Actions& actions);
  /// From now on no row before this place is planned: chunks that nobody uses any more go.
  void close_before(const Cursor& place);
  /// One user less; chunks that nobody needs then go.
  void remove_user(const ChunkBlockPtr& block);
  /// Everything goes that nobody uses.
  void clear();
  /// Chunks of these blocks that could not be read because storage was away are to be read again. False where a compute thread looks into one of them: then all
  /// stay, until this is said again.
  bool forget_transient_errors(const std::vector<ChunkBlockPtr>& blocks);
  /// Everything goes that can be read or decoded again, but for what `needed` holds and what compute threads look into.
  void drop_others(const ChunkBlock* needed);

  /// What a block waits for that is not ready.
  Awaited what_is_awaited(const ChunkBlock& block);
  /// The chunk that it waits for, as messages call it.
  std::string name_of_missing(const ChunkBlock& block) const;
  /// How often each chunk was decoded so far.
  const std::vector<uint32_t>& decodes() const { return decoded_; }

 private:
  class Arrival;

  Step start(const std::shared_ptr<Chunk>& chunk, const Asker& asker, Actions& actions);
  Step begin_fetching(Chunk& chunk, const Asker& asker);
  Step decode(const std::shared_ptr<Chunk>& chunk, const Asker& asker, Actions& actions);
  std::optional<Step> others_have(const std::shared_ptr<Chunk>& chunk, const Asker& asker);
  std::unique_ptr<SharedChunks::Work> at_work(const Chunk& chunk) const;
  std::optional<Claim> claim(Use use, uint64_t bytes, const Asker& asker) const;
  bool get_memory(Chunk::Running& running, uint64_t bytes, const Asker& asker) const;
  bool has_slot(const ChunkPlace& place) {
    return place.store == nullptr || core_.fetcher.line(*place.store).has_slot();
  }
  static const Chunk& first_missing(const ChunkBlock& block);

  void on_read(Arrival& arrival, Result<Buffer> result);
  void work(const std::shared_ptr<Chunk>& chunk, WorkMemory& memory);
  void keep(Chunk& chunk, Chunk::Running& running, std::shared_ptr<const Columns> rows);
  void decoding_failed(Chunk& chunk, Chunk::Read input, Status status, bool cold);
  void failed(Chunk& chunk, Status status);
  static void drop(Chunk& chunk);
  static void drop_freed(const ChunkTable::Freed& freed);

  RunCore& core_;
  const ChunkPlan& plan_;
  const ChunkWork chunk_work_;
  const std::shared_ptr<SharedChunks> shared_;
  const std::function<bool(const Chunk&)> is_due_;
  ChunkTable table_;
  std::vector<uint32_t> decoded_;
  int decoding_ = 0;  // chunks that compute threads work on, or will
};

}  // namespace forebay
