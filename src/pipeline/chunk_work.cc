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
  const std::optional<Hash128> key = plan.entry(number);
  if (!key || !bytes.find(*plan.cache, {*key, number, /*peers=*/true}, 0)) {
    ChunkSource::ChunkFetch fetch = plan.source->chunk_fetch(number);
    bytes.store = fetch.store;
    for (ReadRequest& request : fetch.requests) bytes.pieces.push_back({std::move(request)});
    return;
  }
  // Only the peer knows the size of its entry. Entries that are larger than this bound are not
  // read.
  for (auto& [request, unused] : bytes.pieces) {
    if (request.set_aside_bytes && !request.expected_size)
      request.expected_size = ChunkMemory(plan).most_entry_bytes(number);
  }
}

ChunkNeeds ChunkWork::needs(int64_t number, const StoredBytes& bytes, uint64_t more) const {
  const ChunkPlan& plan = *plan_->chunks;
  const uint64_t stored = bytes.needs_read() ? bytes.size() : 0;
  ChunkNeeds needs = ChunkMemory(plan).needs(number, stored, bytes.in_cache() && plan.caches_packed());
  needs.working = std::max(needs.working, more);
  return needs;
}

ChunkWork::Made ChunkWork::make(int64_t number, StoredBytes& bytes, const Buffer& rows, WorkMemory& memory) const {
  Made made{cancelled("not made")};
  try {
    made.rows = decode(number, bytes, rows, memory, &made.page_cache_miss);
  } catch (const std::bad_alloc&) {
    made.rows = system_lacks_memory();
  } catch (const std::exception& error) {
    made.rows = internal_error(error.what()).with_key(plan_->chunks->source->chunk_name(number));
  }
  return made;
}

Result<std::shared_ptr<const Columns>> ChunkWork::decode(int64_t number, StoredBytes& bytes, const Buffer& rows,
                                                         WorkMemory& memory, bool* page_cache_miss) const {
  const ChunkPlan& plan = *plan_->chunks;
  const bool unread = bytes.needs_read();
  if (unread) {
    const bool as_it_is = bytes.in_cache() && plan.caches_packed();
    const std::optional<Status> read = bytes.read_now(*plan_->fetch_counters, 0, as_it_is ? rows : Buffer());
    *page_cache_miss = !read;
    if (!read) return cancelled("not in the page cache");
    FOREBAY_RETURN_IF_ERROR(*read);
  }
  std::vector<Buffer> stored;
  for (StoredBytes::Piece& piece : bytes.pieces) stored.push_back(unread ? std::move(piece.bytes) : piece.bytes);
  bytes.in_memory &= !unread;
  if (!bytes.in_cache()) return plan.make(number, std::move(stored), rows, memory);
  std::shared_ptr<const Columns> entry = bytes.entry->columns;
  if (!entry) {
    FOREBAY_ASSIGN(entry, plan.cache->open(bytes.entry->key, std::move(stored.front())));
  }
  return plan.finish(std::move(entry), rows, memory);
}

}  // namespace forebay
