#include "pipeline/chunk_work.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "runtime/buffer_pool.h"

namespace forebay {

void ChunkWork::look_up(int64_t number, StoredBytes& bytes) const {
  if (std::exchange(bytes.looked_up, true)) return;
  const ChunkPlan& plan = *plan_->chunks;
  const std::optional<Hash128> key = plan.cache_key(number);
  if (!key || !bytes.find(*plan.cache, {*key, number, /*peers=*/true}, 0)) {
    ChunkSource::ChunkFetch fetch = plan.source->chunk_fetch(number);
    bytes.store = fetch.store;
    for (ReadRequest& request : fetch.requests) bytes.pieces.push_back({std::move(request)});
    return;
  }
  // Only the peer knows the size of its entry. Entries that are larger than this bound are not
  // read.
  for (StoredBytes::Piece& piece : bytes.pieces) {
    ReadRequest& request = piece.request;
    if (request.set_aside_bytes && !request.expected_size)
      request.expected_size = ChunkMemory(plan).max_entry_bytes(number);
  }
}

ChunkNeeds ChunkWork::needs(int64_t number, const StoredBytes& bytes, uint64_t more) const {
  const ChunkPlan& plan = *plan_->chunks;
  const uint64_t stored = bytes.needs_read() ? bytes.size() : 0;
  ChunkNeeds needs = ChunkMemory(plan).needs(number, stored, bytes.has_entry() && plan.caches_packed());
  needs.working = std::max(needs.working, more);
  return needs;
}

ChunkWork::Made ChunkWork::make(int64_t number, StoredBytes& bytes, const Buffer& rows, WorkMemory& memory) const {
  try {
    return read_and_decode(number, bytes, rows, memory);
  } catch (const std::bad_alloc&) {
    return {system_lacks_memory()};
  } catch (const std::exception& error) {
    return {internal_error(error.what()).with_key(plan_->chunks->source->chunk_name(number))};
  }
}

ChunkWork::Made ChunkWork::read_and_decode(int64_t number, StoredBytes& bytes, const Buffer& rows,
                                           WorkMemory& memory) const {
  const bool reads = bytes.needs_read();
  if (reads) {
    // A cache entry of packed rows is used as it is, so it is read to where the rows belong.
    const bool is_packed = bytes.has_entry() && plan_->chunks->caches_packed();
    const std::optional<Status> read = bytes.read_now(*plan_->fetch_counters, 0, is_packed ? rows : Buffer());
    if (!read) return {cancelled("not in the page cache"), /*page_cache_miss=*/true};
    if (!read->ok()) return {*read};
  }
  std::vector<Buffer> stored;
  for (StoredBytes::Piece& piece : bytes.pieces) stored.push_back(reads ? std::move(piece.bytes) : piece.bytes);
  // The bytes that this thread has read were moved away, so another attempt has to read them again.
  if (reads) bytes.pieces_read = false;
  return {decode(number, bytes, std::move(stored), rows, memory)};
}

Result<std::shared_ptr<const Columns>> ChunkWork::decode(int64_t number, const StoredBytes& bytes,
                                                         std::vector<Buffer> stored, const Buffer& rows,
                                                         WorkMemory& memory) const {
  const ChunkPlan& plan = *plan_->chunks;
  if (!bytes.has_entry()) return plan.make(number, std::move(stored), rows, memory);
  std::shared_ptr<const Columns> entry = bytes.entry->columns;
  if (!entry) {
    FOREBAY_ASSIGN(entry, plan.cache->open(bytes.entry->key, std::move(stored.front())));
  }
  return plan.finish(std::move(entry), rows, memory);
}

}  // namespace forebay
