#include "format/materialized/materialized_chunks.h"

namespace forebay {

MaterializedChunks::MaterializedChunks(std::shared_ptr<const ChunkSource> table,
                                       std::shared_ptr<const MaterializedManifest> manifest,
                                       std::shared_ptr<const ChunkHashes> hashes)
    : table_(std::move(table)), manifest_(std::move(manifest)), hashes_(std::move(hashes)),
      steps_before_(manifest_->steps_before()) {
  // The files store only types. Other properties of a field come from the manifest.
  for (const Field& field : table_->schema()) {
    schema_.push_back(field);
    for (const StoredField& stored : manifest_->fields)
      if (stored.field.name == field.name) schema_[schema_.size() - 1] = stored.field;
    schema_[schema_.size() - 1].fetched = field.fetched;
  }
}

Result<Columns> MaterializedChunks::decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const {
  FOREBAY_ASSIGN(Columns columns, table_->decode(chunk, std::move(fetched), memory));
  columns.schema = schema_;
  if (Status intact = hashes_->check(chunk, columns); !intact.ok()) return Status(intact).with_key(chunk_name(chunk));
  return columns;
}

Result<std::shared_ptr<const ChunkSource>> MaterializedChunks::with_fields(std::span<const std::string> names) const {
  FOREBAY_ASSIGN(std::shared_ptr<const ChunkSource> table, table_->with_fields(names));
  return std::shared_ptr<const ChunkSource>(std::make_shared<MaterializedChunks>(std::move(table), manifest_, hashes_));
}

}  // namespace forebay
