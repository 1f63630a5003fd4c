#include "pipeline/chunk_work.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/buffer_pool.h"
#include "store/store.h"

namespace forebay {

uint64_t bytes_of(const std::vector<ReadRequest>& requests) {
  uint64_t bytes = 0;
  for (const ReadRequest& request : requests)
    bytes += request.range ? request.range->length : request.expected_size.value_or(0);
  return bytes;
}

ChunkPlace ChunkWork::look_up(int64_t number) const {
  const ChunkPlan& plan = *plan_->chunks;
  const std::optional<Hash128> entry = plan.entry(number);
  std::optional<EntryCache::Found> found = entry ? plan.cache->find({*entry, number, /*peers=*/true}) : std::nullopt;
  if (!found) {
    ChunkSource::ChunkFetch fetch = plan.source->chunk_fetch(number);
    return {fetch.store, std::move(fetch.requests)};
  }
  if (found->columns) return {found->store, {}, std::move(found->columns), /*cached=*/true};
  // Only the peer knows the size of its entry. Entries that are larger than this bound are not
  // read.
  if (found->request.set_aside_bytes && !found->request.expected_size)
    found->request.expected_size = ChunkMemory(plan).most_entry_bytes(number);
  return {found->store, {std::move(found->request)}, nullptr, /*cached=*/true};
}

ChunkNeeds ChunkWork::needs(int64_t number, const Chunk::Read& input, uint64_t more) const {
  const ChunkPlan& plan = *plan_->chunks;
  const uint64_t stored = input.on_thread ? bytes_of(input.place.requests) : 0;
  ChunkNeeds needs = ChunkMemory(plan).needs(number, stored, input.place.cached && plan.caches_packed());
  needs.working = std::max(needs.working, more);
  return needs;
}

ChunkWork::Made ChunkWork::make(int64_t number, const Chunk::Read& input, const Buffer& rows,
                                WorkMemory& memory) const {
  Made made{cancelled("not made")};
  try {
    made.rows = decode(number, input, rows, memory, &made.cold);
  } catch (const std::bad_alloc&) {
    made.rows = system_lacks_memory();
  } catch (const std::exception& error) {
    made.rows = internal_error(error.what()).with_key(plan_->chunks->source->chunk_name(number));
  }
  return made;
}

Result<std::shared_ptr<const Columns>> ChunkWork::decode(int64_t number, const Chunk::Read& input, const Buffer& rows,
                                                         WorkMemory& memory, bool* cold) const {
  const ChunkPlan& plan = *plan_->chunks;
  const ChunkPlace& place = input.place;
  std::vector<Buffer> stored = input.stored;
  for (size_t i = 0; i < place.requests.size() && input.on_thread; ++i) {
    const int64_t begun = thread_cpu_ns();
    ReadRequest request = place.requests[i];
    if (place.cached && plan.caches_packed()) request.into = rows;
    std::optional<Result<Buffer>> read = place.store->read_now(request);
    *cold = !read;
    if (!read) return cancelled("not in the page cache");
    if (!read->ok()) return read->status();
    stored[i] = std::move(**read);
    plan_->fetch_counters->add(0, stored[i].size(), stored[i].size(), thread_cpu_ns() - begun);
  }
  if (!place.cached) return plan.make(number, std::move(stored), rows, memory);
  std::shared_ptr<const Columns> entry = place.entry;
  if (!entry) {
    FOREBAY_ASSIGN(entry, plan.cache->open(*plan.entry(number), std::move(stored.front())));
  }
  return plan.finish(std::move(entry), rows, memory);
}

}  // namespace forebay
