#include "pipeline/chunk_work.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "runtime/buffer_pool.h"

namespace forebay {

namespace {

// Rounds sizes so that memory of one chunk fits others with a few rows more or less.
uint64_t rounded(uint64_t bytes) {
  const uint64_t step = bytes < (uint64_t{1} << 20) ? 64 : 64 * 1024;
  return (bytes + step - 1) / step * step;
}

// Like rounded(), for lists and texts, whose sizes vary more. Adds an eighth at most.
uint64_t widely_rounded(uint64_t bytes) {
  const uint64_t step = std::max<uint64_t>(std::bit_floor(bytes) / 8, 64);
  return (bytes + step - 1) / step * step;
}

// Upper bound of an entry's size: the rows of its chunk and a little more.
uint64_t most_entry_bytes(uint64_t decoded_bytes) { return decoded_bytes + decoded_bytes / 4 + (64 << 10); }

}  // namespace

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
      request.expected_size = most_entry_bytes(plan.source->chunk_cost(number).decoded_bytes);
  }
}

ChunkNeeds ChunkWork::needs(int64_t number, const StoredBytes& bytes, uint64_t more) const {
  const ChunkPlan& plan = *plan_->chunks;
  const ChunkSource& source = *plan.source;
  const uint64_t decoded = source.chunk_cost(number).decoded_bytes;
  const size_t side_by_side = plan.packed.packed_bytes(source.chunk_begin(number + 1) - source.chunk_begin(number));
  // A packed cache entry is used as it was read, unless it was compressed, and so is smaller than
  // its rows. Otherwise columns are decoded and then packed, so they exist twice.
  const bool as_it_is = bytes.in_cache() && plan.caches_packed();
  const uint64_t stored = bytes.unread() ? bytes.size() : 0;
  const uint64_t working = std::max(as_it_is ? 0 : decoded + stored, more);
  // A smaller entry was compressed. It is read into other memory and unpacked into its own.
  const uint64_t entry = stored >= side_by_side ? stored : 0;
  const uint64_t together = as_it_is ? entry : side_by_side;  // in the chunk's pool memory
  const bool sizes_differ = as_it_is && !plan.packed.apart().empty();
  const uint64_t packed = together == 0 ? 0 : sizes_differ ? widely_rounded(together) : rounded(together);
  const uint64_t apart = decoded - std::min(decoded, together);
  return {packed, apart, working};
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
  const bool unread = bytes.unread();
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
