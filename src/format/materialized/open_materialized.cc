#include "format/materialized/open_materialized.h"

#include <fmt/format.h>

#include "format/files/reading_jobs.h"
#include "format/materialized/index_columns.h"
#include "format/materialized/materialized_chunks.h"
#include "format/materialized/materialized_samples.h"
#include "format/table/open_table.h"

namespace forebay {

namespace {

constexpr uint64_t kMaxMaterializedBytes = uint64_t{1} << 30;
constexpr double kIndexGrows = 1.5;  // size in memory relative to its file

std::string below(const std::string& folder, std::string_view name) {
  return folder.empty() || folder.ends_with('/') ? folder + std::string(name) : fmt::format("{}/{}", folder, name);
}

/// Reads one index and decodes it.
class ShardIndexJob final : public ReadingJob {
 public:
  ShardIndexJob(std::string key, const StoredShard& shard, const TableCodecs& codecs, Columns* into)
      : key_(std::move(key)), shard_(shard), codecs_(codecs), into_(into) {}

  Result<NextReads> step(JobInput input) override {
    if (!input.status.ok()) return input.status;
    if (input.buffers.empty()) return NextReads{{{.key = key_, .range = {}, .expected_size = shard_.index_bytes}}, {}};
    const Buffer& file = input.buffers.front();
    // The index is checked once. The shards' data is checked sample by sample against hashes in the
    // index.
    if (hash128(file.data(), file.size()) != shard_.index_checksum)
      return corrupt("is damaged: its checksum is another; materialise it again").with_key(key_);
    Result<Columns> columns = columns_of_index(file, codecs_);
    if (!columns.ok()) return Status(columns.status()).with_key(key_);
    *into_ = std::move(*columns);
    return NextReads();
  }

 private:
  const std::string key_;
  const StoredShard& shard_;
  const TableCodecs& codecs_;
  Columns* const into_;
};

// Returns one index per shard.
Result<std::vector<Columns>> read_indices(const StoreAndPath& folder, const MaterializedManifest& manifest,
                                          const TableCodecs& codecs, std::stop_token stop) {
  std::vector<Columns> indices(manifest.shards.size());
  const auto make = [&](size_t i) -> std::unique_ptr<ReadingJob> {
    return std::make_unique<ShardIndexJob>(below(folder.path, index_file(static_cast<int64_t>(i))), manifest.shards[i],
                                           codecs, &indices[i]);
  };
  ReadingJobsOptions options;
  options.bytes = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<double>(manifest.shards[i].index_bytes) * kIndexGrows);
  };
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(*folder.store, indices.size(), make, options, stop));
  return indices;
}

std::string shard_key(const StoreAndPath& folder, const MaterializedManifest& manifest, size_t shard) {
  return below(folder.path, shard_file(static_cast<int64_t>(shard), manifest.format));
}

Result<std::shared_ptr<const Source>> open_samples(const StoreAndPath& folder, MaterializedManifest manifest,
                                                   std::vector<Columns> columns) {
  std::vector<ShardIndex> indices;
  for (size_t i = 0; i < columns.size(); ++i)
    indices.push_back({shard_key(folder, manifest, i), manifest.shards[i].bytes, std::move(columns[i])});
  return MaterializedSamples::make(folder.store, std::move(manifest), std::move(indices), folder.name.empty());
}

Result<std::shared_ptr<const Source>> open_chunks(const StoreAndPath& folder, MaterializedManifest manifest,
                                                  const std::vector<Columns>& indices, const TableCodecs& codecs,
                                                  std::stop_token stop) {
  ChunkHashes hashes(manifest.fields);
  DataFiles files{folder.store, below(folder.path, ""), {}};
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    files.files.push_back({shard_key(folder, manifest, i), manifest.shards[i].bytes, 0});
    if (Status added = hashes.add(indices[i]); !added.ok()) return Status(added).with_key(files.files.back().key);
  }
  TableRequest request;
  if (manifest.format == StoredFormat::kArrow) request.format = TableRequest::Format::kArrow;
  request.selection.columns.emplace();
  for (const StoredField& stored : manifest.fields) request.selection.columns->push_back(stored.field.name);
  FOREBAY_ASSIGN(std::shared_ptr<const ChunkSource> table, open_table_files(std::move(files), request, codecs, stop));
  if (table->size() != manifest.size || static_cast<size_t>(table->chunks()) != hashes.chunks())
    return corrupt(fmt::format(
                       "its shards have {} rows in {} parts, the manifest {} and the index {}; materialise it again",
                       table->size(), table->chunks(), manifest.size, hashes.chunks()))
        .with_key(folder.path);
  return std::shared_ptr<const Source>(std::make_shared<MaterializedChunks>(
      std::move(table), std::make_shared<const MaterializedManifest>(std::move(manifest)),
      std::make_shared<const ChunkHashes>(std::move(hashes))));
}

}  // namespace

Result<MaterializedManifest> read_manifest(const StoreAndPath& folder, std::stop_token stop) {
  const std::string key = below(folder.path, kManifestName);
  ReadRequest request{.key = key, .range = {}, .expected_size = {}};
  request.set_aside_bytes = kMaxMaterializedBytes;
  const Result<Buffer> text = read_wait(*folder.store, request, stop);
  if (text.status().code() == Code::kNotFound)
    return not_found(
               "has no finished materialised data (no _manifest.json); if `materialize` was stopped there, run the "
               "same command again to continue")
        .with_key(folder.store->display_name(folder.path));
  if (!text.ok()) return text.status();
  Result<MaterializedManifest> manifest =
      MaterializedManifest::from_json({reinterpret_cast<const char*>(text->data()), text->size()});
  if (!manifest.ok()) return Status(manifest.status()).with_key(folder.store->display_name(key));
  return manifest;
}

Result<std::shared_ptr<const Source>> open_materialized(StoreAndPath folder, MaterializedManifest manifest,
                                                        const TableCodecs& codecs, std::stop_token stop) {
  if (manifest.shards.empty()) return corrupt("has no shards").with_key(folder.store->display_name(folder.path));
  if (!manifest.below.empty()) {
    folder.path = below(folder.path, manifest.below);
    folder.path.pop_back();  // the '/'
  }
  FOREBAY_ASSIGN(std::vector<Columns> indices, read_indices(folder, manifest, codecs, stop));
  return manifest.layout == MaterializedManifest::Layout::kChunks
             ? open_chunks(folder, std::move(manifest), indices, codecs, stop)
             : open_samples(folder, std::move(manifest), std::move(indices));
}

}  // namespace forebay
