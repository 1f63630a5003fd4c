#include "pipeline/run/chunks.h"

#include <algorithm>
#include <utility>

#include "pipeline/run/run_trace.h"

// Allocation of memory, threads and requests to chunks. chunks_work.cc has the processing of
// results.

namespace forebay {

namespace {

std::vector<int64_t> begins_of(const ChunkSource& source) {
  std::vector<int64_t> begins;
  for (int64_t chunk = 0; chunk <= source.chunks(); ++chunk) begins.push_back(source.chunk_begin(chunk));
  return begins;
}

}  // namespace

Chunks::Chunks(RunCore& core, size_t branch, std::shared_ptr<SharedChunks> shared, IsDue is_due)
    : ElementReads(core, /*samples=*/0), branch_(branch), plan_(*core.plan.branch(branch).chunks),
      chunk_work_(core.plan.branches()[branch]), shared_(std::move(shared)), is_due_(std::move(is_due)),
      table_(branch, core.steps->order(branch), begins_of(*plan_.source)),
      decoded_(static_cast<size_t>(plan_.source->chunks())) {}

bool Chunks::advance(const ChunkBlock& block, const BlockRequest& request, Actions& actions) {
  for (const auto& chunk : block.chunks) {
    AdvanceResult result = AdvanceResult::kMoved;
    if (chunk->is<Chunk::Waiting>() || chunk->is<Chunk::Reading>()) result = start(chunk, request, actions);
    if (chunk->is<Chunk::Runnable>()) result = decode(chunk, request, actions);
    if (result == AdvanceResult::kLacksMemory) return false;
  }
  return true;
}

void Chunks::close_before(const Cursor& place) {
  // Blocks that lose their last user later are freed by remove_user().
  if (std::exchange(closed_before_, place) == place) return;
  const Order::Use next = core_.steps->next_place(branch_, place);
  ChunkTable::Freed freed;
  table_.close_before(next.epoch, next.position);
  table_.remove_unused(freed);
  drop_freed(freed);
}

void Chunks::remove_user(const ChunkBlockPtr& block) {
  ChunkTable::Freed freed;
  table_.remove_user(block, freed);
  drop_freed(freed);
}

void Chunks::clear() {
  ChunkTable::Freed freed;
  closed_before_.reset();
  table_.clear(freed);
  table_.set_order(core_.steps->order(branch_));  // the steps may follow another plan now
  drop_freed(freed);
}

// A chunk with reads in flight cannot release its memory before they end. A chunk that waits for a
// request slot between two reads can.
void Chunks::drop_others(const ChunkBlock* needed) {
  for (const auto& [number, chunk] : table_.chunks()) {
    if (chunk->pins > 0 || (needed != nullptr && needed->has_chunk(*chunk))) continue;
    const auto* const reading = std::get_if<Chunk::Reading>(&chunk->state);
    const bool waits = reading != nullptr && reading->in_flight == 0;
    if (waits || chunk->is<Chunk::Runnable>() || chunk->is<Chunk::Ready>()) drop(*chunk);
  }
}

bool Chunks::forget_transient_errors(const std::vector<ChunkBlockPtr>& blocks) {
  std::vector<Chunk*> failed;
  for (const ChunkBlockPtr& block : blocks)
    for (const auto& chunk : block->chunks)
      if (chunk->status().code() == Code::kUnavailable) failed.push_back(chunk.get());
  // All chunks are reset at once. Otherwise those reset first would be read again and again until a
  // compute thread releases the last one.
  if (std::ranges::any_of(failed, [](const Chunk* chunk) { return chunk->readers > 0; })) return false;
  // Failed chunks have no rows, so a task that pins one does not use its memory. `failed` may
  // contain a chunk twice; only the first reset has an effect.
  for (Chunk* chunk : failed)
    if (chunk->is<Chunk::Failed>()) drop(*chunk);
  return true;
}

void Chunks::drop_freed(const ChunkTable::Freed& freed) {
  for (const auto& chunk : freed) drop(*chunk);
}

void Chunks::drop(Chunk& chunk) {
  if (auto* running = std::get_if<Chunk::Running>(&chunk.state))
    running->discard_result = true;  // its memory is released when the compute thread is done
  else
    chunk.become(Chunk::Waiting{});
}

const Chunk& Chunks::first_missing(const ChunkBlock& block) {
  return **std::find_if(block.chunks.begin(), block.chunks.end(), [](const auto& one) { return !one->is_done(); });
}

Awaited Chunks::what_is_awaited(const ChunkBlock& block) {
  const Chunk& chunk = first_missing(block);
  if (chunk.awaits_other_run) return Awaited::kCompute;  // another run makes it
  if (const auto* reading = std::get_if<Chunk::Reading>(&chunk.state))
    return reading->in_flight == 0 && !has_slot(chunk.bytes) ? Awaited::kSlot : Awaited::kStorage;
  if (chunk.is<Chunk::Runnable>()) return decoding_ >= core_.tuning.threads() ? Awaited::kThread : Awaited::kMemory;
  if (const auto* running = std::get_if<Chunk::Running>(&chunk.state))
    return running->begun ? Awaited::kCompute : Awaited::kThread;
  return has_slot(chunk.bytes) ? Awaited::kMemory : Awaited::kSlot;
}

std::string Chunks::name_of_missing(const ChunkBlock& block) const {
  return plan_.source->chunk_name(first_missing(block).number);
}

// Requests the stored bytes of a chunk that is Waiting or Reading.
AdvanceResult Chunks::start(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request, Actions& actions) {
  if (chunk->is<Chunk::Waiting>()) {
    if (const std::optional<AdvanceResult> adopted = adopt_shared(chunk, request)) return *adopted;
    const AdvanceResult result = find_bytes(*chunk, request);
    if (!chunk->is<Chunk::Reading>()) return result;
  }
  return send(chunk, trace_id_of_chunk(branch_, static_cast<size_t>(chunk->number)), Requests::kAsSlotsAllow, actions);
}

// Looks the chunk up. Makes it Reading if reads have to be sent, and Runnable or Ready otherwise.
AdvanceResult Chunks::find_bytes(Chunk& chunk, const BlockRequest& request) {
  // One chunk may always be fetched ahead. Otherwise a chunk larger than `ahead_bytes` never would.
  const uint64_t stored = plan_.source->chunk_cost(chunk.number).fetched_bytes;
  // kLacksSlot and not kLacksMemory, so that other chunks of the block that are fetched already may
  // go on.
  if (request.ahead && core_.memory.has_fetched() && !core_.memory.may_fetch_ahead(stored))
    return AdvanceResult::kLacksSlot;
  StoredBytes& bytes = chunk.bytes;
  chunk_work_.look_up(chunk.number, bytes);
  if (bytes.entry_in_memory() && plan_.caches_packed()) {
    chunk.become(Chunk::Ready{std::move(bytes.entry->columns)});
  } else if (bytes.pieces.empty() || core_.fetcher.slots_of(*bytes.store).should_try_page_cache()) {
    chunk.state = Chunk::Runnable{};
  } else {
    if (!has_slot(bytes)) return AdvanceResult::kLacksSlot;
    std::optional<Claim> claimed = claim(Use::kFetched, bytes.size(), request);
    if (!claimed) return AdvanceResult::kLacksMemory;
    begin_reading(chunk, std::move(*claimed));
  }
  return AdvanceResult::kMoved;
}

// Acquires memory for a chunk that is Runnable, and posts its decoding.
AdvanceResult Chunks::decode(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request, Actions& actions) {
  if (const std::optional<AdvanceResult> adopted = adopt_shared(chunk, request)) return *adopted;
  if (decoding_ >= core_.tuning.threads()) return AdvanceResult::kLacksSlot;
  const ChunkNeeds needs = chunk_work_.needs(chunk->number, chunk->bytes, chunk->working_needed);
  Chunk::Running running;
  if (!acquire_memory(running, needs.packed, request)) return AdvanceResult::kLacksMemory;
  std::optional<Claim> unpacked = claim(Use::kChunks, needs.unpacked, request);
  std::optional<Claim> working = unpacked ? claim(Use::kWorking, needs.working, request) : std::nullopt;
  if (!working) return AdvanceResult::kLacksMemory;
  running.rows.merge(std::move(*unpacked));
  running.working = std::move(*working);
  chunk->state = std::move(running);
  ++decoding_;
  // The task holds the right, and is destroyed without a lock.
  core_.post(actions, request.order, Work::kChunks, trace_id_of_chunk(branch_, static_cast<size_t>(chunk->number)),
             [this, chunk, sharing_right = take_sharing_right(*chunk)](WorkMemory& memory) { work(chunk, memory); });
  return AdvanceResult::kMoved;
}

// Uses the chunk's rows if another run has them, and waits for them if another run is making them.
// Returns the result of this step, or nothing if this run has to make the chunk itself.
std::optional<AdvanceResult> Chunks::adopt_shared(const std::shared_ptr<Chunk>& chunk, const BlockRequest& request) {
  if (chunk->awaits_other_run) return AdvanceResult::kMoved;
  if (!chunk->sharing_key) chunk->sharing_key.emplace(plan_.sharing_key(chunk->number));
  const std::optional<Hash128>& key = *chunk->sharing_key;
  if (!key) return std::nullopt;  // these rows are not shared
  if (SharedChunks::Rows rows = shared_->find(*key)) {
    // Every run that holds the rows claims their bytes, since each may be the last one that holds
    // them.
    std::optional<Claim> bytes = claim(Use::kChunks, retained_bytes(*rows, Buffer()), request);
    if (!bytes) return AdvanceResult::kLacksMemory;
    // Work of this run on the chunk is dropped, and the answers of its reads in flight are ignored.
    chunk->become(Chunk::Ready{std::move(rows), std::move(*bytes)});
    return AdvanceResult::kMoved;
  }
  // The notification comes on a thread of the other run, so the work continues on a thread of this
  // one.
  chunk->awaits_other_run = shared_->subscribe(*key, [this, weak = core_.weakly_alive(), chunk] {
    const std::shared_ptr<void> alive = weak.lock();
    if (!alive) return;
    const RunCore::Lock lock(core_.mutex);
    chunk->awaits_other_run = false;
    if (!core_.closed) core_.post_act();
  });
  return chunk->awaits_other_run ? std::optional(AdvanceResult::kMoved) : std::nullopt;
}

// Returns the right to make the chunk's shared rows. Other runs wait for the rows until it is
// destroyed. Null if the rows are not shared.
std::shared_ptr<void> Chunks::take_sharing_right(const Chunk& chunk) {
  return chunk.sharing_key && *chunk.sharing_key ? shared_->begin(**chunk.sharing_key) : nullptr;
}

std::optional<Claim> Chunks::claim(Use use, uint64_t bytes, const BlockRequest& request) const {
  if (request.ahead && !core_.memory.leaves_room(bytes)) return std::nullopt;
  return core_.memory.take(use, bytes, request.ahead ? nullptr : request.others);
}

// Acquires memory for packed rows, or for a cache entry.
bool Chunks::acquire_memory(Chunk::Running& running, uint64_t bytes, const BlockRequest& request) const {
  BufferPool& pool = core_.memory.chunks();
  while (bytes > 0 && !running.memory.owner()) {
    // Frees idle buffers of other sizes, which would otherwise stay until memory is lacking.
    if (request.ahead && !core_.memory.leaves_room(bytes) && !pool.has_idle(bytes) &&
        !(pool.trim() && core_.memory.leaves_room(bytes)))
      return false;
    if (std::optional<BufferPool::Acquired> lent = pool.acquire(bytes)) {
      running.memory = std::move(lent->buffer);
      running.rows = std::move(lent->claim);
    } else if (request.others == nullptr || !request.others->reclaim(bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace forebay
