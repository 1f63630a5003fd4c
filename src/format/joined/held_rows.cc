#include "format/joined/held_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/columns.h"
#include "base/work_memory.h"
#include "store/store.h"

namespace forebay {

namespace {

Result<Columns> read_to_hold(const ChunkSource& source, int64_t chunk, const std::stop_token& stop) {
  const ChunkSource::ChunkFetch fetch = source.chunk_fetch(chunk);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, stop));
    fetched.push_back(std::move(bytes));
  }
  WorkMemory memory;
  Result<Columns> columns = source.decode(chunk, std::move(fetched), memory);
  if (!columns.ok()) return Status(columns.status()).with_key(source.chunk_name(chunk));
  return columns;
}

}  // namespace

Result<std::shared_ptr<const HeldRows>> HeldRows::read(std::shared_ptr<const ChunkSource> source, uint64_t most_bytes,
                                                       const std::stop_token& stop) {
  uint64_t bytes = 0;
  for (int64_t chunk = 0; chunk < source->chunks(); ++chunk) bytes += source->chunk_cost(chunk).decoded_bytes;
  if (bytes > most_bytes)
    return out_of_budget(
        fmt::format("its rows would be held in memory, and take up to {} bytes, more than {}", bytes, most_bytes),
        bytes);
  std::vector<Columns> chunks;
  for (int64_t chunk = 0; chunk < source->chunks(); ++chunk) {
    FOREBAY_ASSIGN(chunks.emplace_back(), read_to_hold(*source, chunk, stop));
  }
  return std::shared_ptr<const HeldRows>(new HeldRows(std::move(source), std::move(chunks)));
}

HeldRows::HeldRows(std::shared_ptr<const ChunkSource> source, std::vector<Columns> chunks)
    : source_(std::move(source)), chunks_(std::move(chunks)) {
  for (Field field : source_->schema()) {
    field.fetched = false;
    schema_.push_back(std::move(field));
  }
  for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    begins_.push_back(source_->chunk_begin(static_cast<int64_t>(chunk)));
    has_bad_rows_ |= chunks_[chunk].bad_rows != nullptr;
  }
}

uint64_t HeldRows::index_bytes() const {
  uint64_t bytes = source_->index_bytes();
  for (const Columns& chunk : chunks_) bytes += chunk.nbytes();
  return bytes;
}

HeldRows::Place HeldRows::find(int64_t id) const {
  const auto chunk = static_cast<size_t>(std::ranges::upper_bound(begins_, id) - begins_.begin()) - 1;
  return {chunk, id - begins_[chunk]};
}

Status HeldRows::load(int64_t id, Buffer, Record& record) const {
  const auto [chunk, row] = find(id);
  if (const auto& bad = chunks_[chunk].bad_rows) {
    if (const auto found = bad->find(row); found != bad->end()) return found->second;
  }
  record = chunks_[chunk].row(row);
  return {};
}

Status HeldRows::gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const {
  const size_t bytes = row_bytes(schema_[field]);
  for (size_t i = 0; i < ids.size() && bytes > 0; ++i) {
    const auto [chunk, row] = find(ids[i]);
    std::memcpy(out + i * bytes, chunks_[chunk].values[field].values.data() + static_cast<size_t>(row) * bytes, bytes);
  }
  return {};
}

}  // namespace forebay
