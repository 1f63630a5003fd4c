#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/value_places.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

/// Samples of tar shards. A chunk is a run of consecutive samples of one shard, fetched by one
/// read. Ids number the samples of all shards. Several sources share one ShardChunks. Immutable.
class ShardSource final : public ChunkSource, public PlacedSource {
 public:
  /// A source with all fields.
  explicit ShardSource(std::shared_ptr<const ShardChunks> chunks);
  /// `fields` are indices into ShardChunks::fields. `columns` are indices into schema_of() of these
  /// fields, in the order of the source's schema.
  ShardSource(std::shared_ptr<const ShardChunks> chunks, std::vector<size_t> fields, std::vector<size_t> columns);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return chunks_->samples; }
  Hash128 version() const override { return chunks_->version; }
  uint64_t index_bytes() const override { return chunks_->index_bytes(); }
  /// Such as "train/000.tar sample 17".
  std::string key(int64_t id) const override;

  int64_t chunks() const override { return static_cast<int64_t>(chunks_->chunks.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return chunks_->first_id(static_cast<size_t>(chunk)); }
  std::string chunk_name(int64_t chunk) const override { return chunks_->chunk_name(static_cast<size_t>(chunk)); }
  ChunkCost chunk_cost(int64_t chunk) const override;
  ChunkFetch chunk_fetch(int64_t chunk) const override;
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override;
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;
  ValuePlaces value_places(size_t field, std::stop_token stop) const override;

 private:
  const ShardChunks::Chunk& chunk_at(int64_t chunk) const { return chunks_->chunks[static_cast<size_t>(chunk)]; }

  const std::shared_ptr<const ShardChunks> chunks_;
  const std::vector<size_t> fields_, columns_;
  Schema schema_;
};

}  // namespace forebay
