#pragma once

#include <memory>
#include <string>

#include "base/chunk_source.h"
#include "format/materialized/chunk_hashes.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// A table that was materialized chunk by chunk to Arrow files. It has the version of the original.
class MaterializedChunks final : public ChunkSource {
 public:
  /// `table` holds the rows of the shards; it must have as many chunks as `hashes`.
  MaterializedChunks(std::shared_ptr<const ChunkSource> table, std::shared_ptr<const MaterializedManifest> manifest,
                     std::shared_ptr<const ChunkHashes> hashes);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return table_->size(); }
  Hash128 version() const override { return manifest_->data_version(); }
  uint64_t index_bytes() const override { return table_->index_bytes() + hashes_->bytes(); }
  std::string key(int64_t id) const override { return table_->key(id); }
  const std::string& steps_before() const override { return steps_before_; }
  int64_t chunks() const override { return table_->chunks(); }
  int64_t chunk_begin(int64_t chunk) const override { return table_->chunk_begin(chunk); }
  std::string chunk_name(int64_t chunk) const override { return table_->chunk_name(chunk); }
  ChunkCost chunk_cost(int64_t chunk) const override { return table_->chunk_cost(chunk); }
  ChunkFetch chunk_fetch(int64_t chunk) const override { return table_->chunk_fetch(chunk); }
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override { return table_->chunk_identity(chunk); }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;

 private:
  const std::shared_ptr<const ChunkSource> table_;
  const std::shared_ptr<const MaterializedManifest> manifest_;
  const std::shared_ptr<const ChunkHashes> hashes_;
  const std::string steps_before_;
  Schema schema_;
};

}  // namespace forebay
