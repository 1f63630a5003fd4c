#include <utility>

#include "pipeline/run/chunks.h"
#include "pipeline/run/chunks_read.h"
#include "pipeline/run/run_trace.h"

// Processing of results for chunks: answers of stores, and the work of compute threads.

namespace forebay {

void Chunks::on_read(Arrival& arrival, Result<Buffer> result) {
  if (const auto trace = core_.plan->trace->get())
    trace_read(*trace, arrival, about_chunk(static_cast<size_t>(arrival.chunk->number)), result.ok());
  const Turn turn(core_);
  core_.fetcher.end(arrival);
  Chunk& chunk = *arrival.chunk;
  // The last read that shares the claim releases it, before the turn ends.
  const std::shared_ptr<Claim> bytes = std::move(arrival.bytes);
  auto* const reading = std::get_if<Chunk::Reading>(&chunk.at);
  if (reading == nullptr || reading->claim != bytes) return;  // given up, perhaps requested again
  --reading->awaited;
  if (result.ok()) {
    core_.plan->fetch_counters->add(0, result->size(), result->size(), 0);
    reading->stored[arrival.piece] = std::move(*result);
  } else if (reading->failure.ok()) {
    reading->failure = result.status();
    reading->asked = reading->place.requests.size();  // send no further requests
  }
  // Requests that found no slot are sent by the next advance(), which continues at `asked`.
  if (reading->awaited > 0 || reading->asked < reading->place.requests.size()) return;
  if (!reading->failure.ok()) return failed(chunk, std::move(reading->failure));
  chunk.at = Chunk::Read{
      .place = std::move(reading->place), .stored = std::move(reading->stored), .claim = std::move(reading->claim)};
}

// Makes the chunk Failed. A transient error counts only if the chunk is due; otherwise it is read
// again.
void Chunks::failed(Chunk& chunk, Status status) {
  if (status.code() == Code::kUnavailable && !is_due_(chunk))
    chunk.at = Chunk::Waiting{};
  else
    chunk.at = Chunk::Failed{std::move(status)};
}

void Chunks::work(const std::shared_ptr<Chunk>& chunk, WorkMemory& memory) {
  const uint64_t own = core_.options.memory.per_thread;
  RunCore::Lock lock(core_.mutex);
  auto& running = std::get<Chunk::Running>(chunk->at);
  const bool wanted = !core_.closed && !running.given_up;
  const uint64_t granted = running.working.bytes();
  running.begun = true;
  core_.settled();
  lock.unlock();
  ChunkWork::Made made{cancelled("not wanted any more")};
  if (wanted) {
    memory.begin_task(own + granted, own);
    made = chunk_work_.make(chunk->number, running.input, running.memory, memory);
  }
  const Turn turn(core_);
  core_.ended();
  --decoding_;
  running.working.give_back();
  if (running.input.on_thread) core_.fetcher.line(*running.input.place.store).found(made.cold);
  if (running.given_up || core_.closed) {
    chunk->at = Chunk::Waiting{};
  } else if (made.rows.ok()) {
    keep(*chunk, running, std::move(*made.rows));
  } else {
    decoding_failed(*chunk, std::move(running.input), made.rows.status(), made.cold);
  }
}

void Chunks::keep(Chunk& chunk, Chunk::Running& running, std::shared_ptr<const Columns> rows) {
  if (!running.input.place.cached) ++decoded_[static_cast<size_t>(chunk.number)];
  running.input.claim.reset();
  const uint64_t bytes = held_bytes(*rows, running.memory);
  running.memory = Buffer();
  Claim claim = std::move(running.rows);
  if (bytes > claim.bytes()) {
    claim.merge(core_.memory.existing(Use::kChunks, bytes - claim.bytes()));
  } else {
    claim.shrink_to(bytes);
  }
  chunk.needs = 0;
  if (*chunk.identity) shared_->offer(**chunk.identity, rows);
  chunk.at = Chunk::Ready{std::move(rows), std::move(claim)};
}

// The chunk starts again if its bytes were not in the page cache or its cache entry was damaged. It
// is decoded again from the same bytes if it needs more memory than last time. Otherwise all of its
// rows are bad.
void Chunks::decoding_failed(Chunk& chunk, Chunk::Read input, Status status, bool cold) {
  const uint64_t own = core_.options.memory.per_thread;
  const uint64_t beyond = status.bytes_needed() > own ? status.bytes_needed() - own : 0;
  const bool damaged_entry = input.place.cached && status.code() == Code::kCorrupt;
  const bool lacks_memory = status.code() == Code::kOutOfBudget && chunk.needs < beyond;
  chunk.needs = lacks_memory ? beyond : 0;
  if (cold || damaged_entry)
    chunk.at = Chunk::Waiting{};
  else if (lacks_memory)
    chunk.at = std::move(input);
  else
    chunk.at = Chunk::Failed{std::move(status)};
}

}  // namespace forebay
