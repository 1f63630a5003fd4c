#include <utility>

#include "pipeline/run/chunks.h"

// Processing of results for chunks: the work of compute threads.

namespace forebay {

void Chunks::work(const std::shared_ptr<Chunk>& chunk, WorkMemory& memory) {
  const uint64_t own = core_.options.memory.per_thread;
  RunCore::Lock lock(core_.mutex);
  auto& running = std::get<Chunk::Running>(chunk->state);
  const bool wanted = !core_.closed && !running.discard_result;
  const uint64_t granted = running.working.bytes();
  const bool unread = chunk->bytes.needs_read();
  const bool ahead = !is_due_(*chunk);
  running.begun = true;
  core_.on_state_changed();
  lock.unlock();
  ChunkWork::Made made{cancelled("not wanted any more")};
  if (wanted) {
    memory.begin_task(own + granted, own);
    made = chunk_work_.make(chunk->number, chunk->bytes, running.memory, memory);
  }
  const AdvancingLock advancing(core_);
  core_.on_task_ended();
  --decoding_;
  running.working.give_back();
  if (unread && wanted) core_.fetcher.slots_of(*chunk->bytes.store).record_try(/*hit=*/!made.page_cache_miss);
  if (running.discard_result || core_.closed) {
    chunk->become(Chunk::Waiting{});
  } else if (made.rows.ok()) {
    finish(*chunk, running, std::move(*made.rows));
  } else if (made.page_cache_miss) {
    chunk->working_needed = 0;
    chunk->become(Chunk::Waiting{});
  } else if (ahead && is_due_(*chunk) && made.rows.status().code() == Code::kUnavailable) {
    // forget_transient_errors() came before this error, and comes only once.
    chunk->become(Chunk::Waiting{});
  } else {
    decoding_failed(*chunk, made.rows.status());
  }
}

void Chunks::finish(Chunk& chunk, Chunk::Running& running, std::shared_ptr<const Columns> rows) {
  if (!chunk.bytes.has_entry()) ++decoded_[static_cast<size_t>(chunk.number)];
  chunk.bytes = {};
  const uint64_t bytes = retained_bytes(*rows, running.memory);
  running.memory = Buffer();
  Claim claim = std::move(running.rows);
  if (bytes > claim.bytes()) {
    claim.merge(core_.memory.existing(Use::kChunks, bytes - claim.bytes()));
  } else {
    claim.shrink_to(bytes);
  }
  chunk.working_needed = 0;
  if (*chunk.sharing_key) shared_->offer(**chunk.sharing_key, rows);
  chunk.state = Chunk::Ready{std::move(rows), std::move(claim)};
}

// The chunk starts again if its cache entry was damaged. It is decoded again from the same bytes if
// it needs more memory than last time. Otherwise all of its rows are bad.
void Chunks::decoding_failed(Chunk& chunk, Status status) {
  const uint64_t own = core_.options.memory.per_thread;
  const uint64_t beyond = status.bytes_needed() > own ? status.bytes_needed() - own : 0;
  const bool damaged_entry = chunk.bytes.has_entry() && status.code() == Code::kCorrupt;
  const bool lacks_memory = status.code() == Code::kOutOfBudget && chunk.working_needed < beyond;
  chunk.working_needed = lacks_memory ? beyond : 0;
  if (damaged_entry)
    chunk.become(Chunk::Waiting{});
  else if (lacks_memory)
    chunk.state = Chunk::Runnable{};
  else
    chunk.become(Chunk::Failed{std::move(status)});
}

}  // namespace forebay
