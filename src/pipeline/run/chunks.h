#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/shared_chunks.h"
#include "pipeline/chunk_table.h"
#include "pipeline/chunk_work.h"
#include "pipeline/run/element_reads.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/waits.h"

namespace forebay {

/// The chunks (row groups, record batches) of a branch of a run. It fetches and decodes them, holds
/// them as long as a block with them is open or used, and shares their rows with other runs that
/// read the same data. It knows no batches and no tasks. The window owns it and calls advance();
/// results return on threads of stores and compute threads, which take the run's lock. That lock
/// guards it.
class Chunks final : private ElementReads {
 public:
  /// Priority of a block, and the memory that it may use.
  struct BlockRequest {
    uint64_t order = 0;                 ///< order on the compute threads
    bool ahead = false;                 ///< for later batches: memory that the window needs is left free
    MemoryReclaimer* others = nullptr;  ///< reclaims memory for it; null if nothing may be reclaimed
  };

  using IsDue = std::function<bool(const Chunk&)>;
  /// Only for branches with chunks. `is_due` returns whether the batch that is delivered next needs
  /// the chunk.
  Chunks(RunCore& core, size_t branch, std::shared_ptr<SharedChunks> shared, IsDue is_due);

  ChunkTable& table() { return table_; }
  /// Starts the next step of each chunk of the block, as far as resources allow. Returns false if
  /// memory is lacking; younger elements must not take any then.
  bool advance(const ChunkBlock& block, const BlockRequest& request, Actions& actions);
  /// No row before this place of the run will be planned. Frees the chunks that nobody needs any
  /// more.
  void close_before(const Cursor& place);
  /// Removes one user of the block. Frees the chunks that nobody needs any more.
  void remove_user(const ChunkBlockPtr& block);
  /// Frees all chunks without users.
  void clear();
  /// Resets the chunks of these blocks that failed with a transient error, so that they are read
  /// again. Returns false, and changes nothing, while a compute thread uses one of them; call it
  /// again later.
  static bool forget_transient_errors(const std::vector<ChunkBlockPtr>& blocks);
  /// Frees all chunks except those of `needed`, those that are pinned, and those being read or
  /// decoded.
  void drop_others(const ChunkBlock* needed);

  /// The resource or work that a block waits for. The block must not be ready.
  Awaited what_is_awaited(const ChunkBlock& block);
  /// Name of the first chunk that the block waits for, for messages.
  std::string name_of_missing(const ChunkBlock& block) const;
  /// How often each chunk was decoded so far.
  const std::vector<uint32_t>& decodes() const { return decoded_; }

 private:
  AdvanceResult start(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request, Actions& actions);
  AdvanceResult find_bytes(Chunk& chunk, const BlockRequest& request);
  AdvanceResult decode(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request, Actions& actions);
  std::optional<AdvanceResult> adopt_shared(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request);
  std::optional<Claim> claim(Use use, uint64_t bytes, const BlockRequest& request) const;
  bool acquire_memory(Chunk::Running& running, uint64_t bytes, const BlockRequest& request) const;
  bool has_slot(const StoredBytes& bytes) {
    return bytes.store == nullptr || core_.fetcher.slots_of(*bytes.store).has_slot();
  }
  static const Chunk& first_missing(const ChunkBlock& block);

  std::shared_ptr<void> take_sharing_right(const Chunk& chunk);
  StepCounters& counters(Element&) override { return *core_.plan.branch(branch_).fetch_counters; }
  std::shared_ptr<void> on_send(Element& element) override { return take_sharing_right(static_cast<Chunk&>(element)); }
  bool is_due(Element& element) const override { return is_due_(static_cast<Chunk&>(element)); }
  void revoke(Element& element) override { drop(static_cast<Chunk&>(element)); }
  void on_arrival(Element&) override {}
  void on_error(Element& element, Status status, Actions&) override {
    static_cast<Chunk&>(element).become(Chunk::Failed{std::move(status)});
  }
  void work(const std::shared_ptr<Chunk>& chunk, WorkMemory& memory);
  void finish(Chunk& chunk, Chunk::Running& running, std::shared_ptr<const Columns> rows);
  void decoding_failed(Chunk& chunk, Status status);
  static void drop(Chunk& chunk);
  static void drop_freed(const ChunkTable::Freed& freed);

  const size_t branch_;
  const ChunkPlan& plan_;
  const ChunkWork chunk_work_;
  const std::shared_ptr<SharedChunks> shared_;
  const IsDue is_due_;
  ChunkTable table_;
  std::vector<uint32_t> decoded_;
  int decoding_ = 0;                     // number of chunks that are Running
  std::optional<Cursor> closed_before_;  // the last place of close_before()
};

}  // namespace forebay
