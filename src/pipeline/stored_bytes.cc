#include "pipeline/stored_bytes.h"

#include <algorithm>
#include <utility>

#include "base/reads_nothing.h"
#include "store/store.h"

namespace forebay {

namespace {

void add_piece(std::vector<StoredBytes::Piece>& pieces, SampleSource::Fetch& fetch) {
  if (!fetch.request.expected_size) fetch.request.set_aside_bytes = fetch.size;
  pieces.push_back({std::move(fetch.request), {}, fetch.store});
}

}  // namespace

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
  if (entry->columns) return true;
  entry->piece = pieces.size();
  pieces.push_back({std::move(found->request)});
  return true;
}

bool StoredBytes::find_part(EntryCache& cache, const EntryRef& ref, size_t stage) {
  std::optional<EntryCache::Found> found = cache.find(ref);
  if (!found) return false;
  part_entries.push_back({ref.key, stage, std::move(found->columns)});
  if (part_entries.back().columns) return true;
  part_entries.back().piece = pieces.size();
  pieces.push_back({std::move(found->request), {}, found->store});
  return true;
}

void StoredBytes::set(SampleSource::Fetch fetch) {
  store = fetch.store;
  pieces.clear();
  if (reads_nothing(fetch)) return;
  add_piece(pieces, fetch);
  for (SampleSource::Fetch& other : fetch.others) add_piece(pieces, other);
}

void StoredBytes::set_aside(std::span<const uint64_t> bytes) {
  for (size_t i = 0; i < std::min(pieces.size(), bytes.size()); ++i) {
    ReadRequest& request = pieces[i].request;
    if (!request.expected_size && !request.range)
      request.set_aside_bytes = std::max(request.set_aside_bytes.value_or(0), bytes[i]);
  }
}

std::vector<Buffer> StoredBytes::all() const {
  std::vector<Buffer> bytes;
  for (const Piece& piece : pieces) bytes.push_back(piece.bytes);
  return bytes;
}

std::optional<Status> StoredBytes::read_now(StepCounters& counters, int64_t samples, const Buffer& into) {
  for (Piece& piece : pieces) {
    const int64_t begun = thread_cpu_ns();
    piece.request.into = into;
    std::optional<Result<Buffer>> read = store_of(piece).read_now(piece.request);
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
