#include "pipeline/chunk_plan.h"

#include "pipeline/content_keys.h"

namespace forebay {

std::optional<Hash128> ChunkPlan::cache_key(int64_t chunk) const {
  if (!cache) return std::nullopt;
  const std::optional<Hash128> identity = source->chunk_identity(chunk);
  if (!identity) return std::nullopt;
  return entry_key(cache_identity, *identity);
}

std::optional<Hash128> ChunkPlan::sharing_key(int64_t chunk) const {
  // Chunks in memory are identified by a hash of their content, which costs as much as decoding.
  if (!rows_identity || source->chunk_fetch(chunk).store == nullptr) return std::nullopt;
  const std::optional<Hash128> stored = source->chunk_identity(chunk);
  return stored ? std::optional(entry_key(*rows_identity, *stored)) : std::nullopt;
}

Status ChunkOp::run(Columns& columns, WorkMemory& memory) const {
  const int64_t begun = thread_cpu_ns();
  const uint64_t bytes = columns.nbytes();
  Status status = op->apply(columns, memory);
  if (!status.ok()) return std::move(status).with_operator(name);
  counters->add(columns.rows, bytes, columns.nbytes(), thread_cpu_ns() - begun);
  return {};
}

Status ChunkPlan::run(size_t begin, size_t end, Columns& columns, WorkMemory& memory) const {
  for (size_t i = begin; i < end; ++i) FOREBAY_RETURN_IF_ERROR(ops[i].run(columns, memory));
  return {};
}

Result<std::shared_ptr<const Columns>> ChunkPlan::make(int64_t chunk, std::vector<Buffer> stored, Buffer rows,
                                                       WorkMemory& memory) const {
  const int64_t begun = thread_cpu_ns();
  uint64_t bytes = 0;
  for (const Buffer& piece : stored) bytes += piece.size();
  FOREBAY_ASSIGN(Columns columns, source->decode(chunk, std::move(stored), memory));
  decode_counters->add(columns.rows, bytes, columns.nbytes(), thread_cpu_ns() - begun);
  FOREBAY_RETURN_IF_ERROR(run(0, cached_after, columns, memory));
  const std::optional<Hash128> key = cache_key(chunk);
  // The packed form is stored: rows are taken from it directly, so a hit costs no more than its
  // read.
  std::shared_ptr<const Columns> made;
  if (caches_packed()) made = std::make_shared<const Columns>(packed.pack(columns, std::move(rows)));
  if (key && cache->try_admit(*key, made ? made->nbytes() : columns.nbytes()))
    cache->put({*key, chunk}, made ? made : std::make_shared<const Columns>(columns),
               static_cast<double>(thread_cpu_ns() - begun) * 1e-9);
  if (made) return made;
  FOREBAY_RETURN_IF_ERROR(run(cached_after, ops.size(), columns, memory));
  return std::make_shared<const Columns>(packed.pack(columns, std::move(rows)));
}

Result<std::shared_ptr<const Columns>> ChunkPlan::finish(std::shared_ptr<const Columns> cached, Buffer rows,
                                                         WorkMemory& memory) const {
  if (caches_packed()) return cached;
  // The columns share the entry's memory, since column operators write only to memory of their own.
  Columns columns = *cached;
  FOREBAY_RETURN_IF_ERROR(run(cached_after, ops.size(), columns, memory));
  return std::make_shared<const Columns>(packed.pack(columns, std::move(rows)));
}

}  // namespace forebay
