#include "pipeline/stored_bytes.h"

#include <utility>

#include "store/store.h"

namespace forebay {

uint64_t size_of(const ReadRequest& request) {
  if (request.range) return request.range->length;
  return request.expected_size.value_or(request.set_aside_bytes.value_or(0));
}

uint64_t StoredBytes::size() const {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += pieces_read ? piece.bytes.size() : size_of(piece.request);
  return bytes;
}

bool StoredBytes::find(EntryCache& cache, const EntryRef& ref, size_t stage) {
  std::optional<EntryCache::Found> found = cache.find(ref);
  if (!found) return false;
  entry = Entry{ref.key, stage, std::move(found->columns)};
  store = found->store;
  if (!entry->columns) pieces.push_back({std::move(found->request)});
  return true;
}

void StoredBytes::set(SampleSource::Fetch fetch) {
  store = fetch.store;
  pieces.resize(1);
  ReadRequest& request = pieces.front().request = std::move(fetch.request);
  if (!request.expected_size) request.set_aside_bytes = fetch.size;
}

std::optional<Status> StoredBytes::read_now(StepCounters& counters, int64_t samples, const Buffer& into) {
  for (Piece& piece : pieces) {
    const int64_t begun = thread_cpu_ns();
    piece.request.into = into;
    std::optional<Result<Buffer>> read = store->read_now(piece.request);
    piece.request.into = Buffer();
    if (!read) return std::nullopt;
    if (!read->ok()) return read->status();
    piece.bytes = std::move(**read);
    counters.add(samples, piece.bytes.size(), piece.bytes.size(), thread_cpu_ns() - begun);
  }
  pieces_read = true;
  return Status();
}

}  // namespace forebay
