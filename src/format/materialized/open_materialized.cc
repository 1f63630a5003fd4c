#include "format/materialized/open_materialized.h"

#include <numeric>

#include <fmt/format.h>

#include "format/materialized/materialized_samples.h"
#include "format/materialized/materialized_units.h"
#include "format/table/open_table.h"
#include "format/table/reading_jobs.h"

namespace forebay {

namespace {

constexpr uint64_t kMostMaterializedBytes = uint64_t{1} << 30;
constexpr double kIndexGrows = 1.5;  // in memory, over its file

std::string below(const std::string& folder, std::string_view name) {
  return folder.empty() || folder.ends_with('/') ? folder + std::string(name) : fmt::format("{}/{}", folder, name);
}

Result<Columns> columns_of_index(const Buffer& file, const TableCodecs& codecs) {
  const TableCodec& codec = codecs.arrow_file();
  const TableFile::Piece all{0, file};
  FOREBAY_ASSIGN(const std::shared_ptr<const TableFile> table, codec.open(file, file.size(), {}, {&all, 1}));
  if (table->groups() != 1) return corrupt("its index is not one record batch");
  std::vector<size_t> fields(table->schema().size());
  std::iota(fields.begin(), fields.end(), size_t{0});
  WorkMemory memory;
  FOREBAY_ASSIGN(Columns columns, table->decode(0, fields, {&all, 1}, memory));
  if (columns.bad_rows) return corrupt("its index has nulls or text that is none");
  return columns;
}

/// Reads one index and decodes it.
class ShardIndexJob final : public ReadingJob {
 public:
  ShardIndexJob(std::string key, const StoredShard& shard, const TableCodecs& codecs, Columns* into)
      : key_(std::move(key)), shard_(shard), codecs_(codecs), into_(into) {}

  Result<JobWish> step(JobInput input) override {
    if (!input.status.ok()) return input.status;
    if (input.buffers.empty()) return JobWish{{{.key = key_, .range = {}, .expected_size = shard_.index_bytes}}, {}};
    const Buffer& file = input.buffers.front();
    if (hash128(file.data(), file.size()) != shard_.index_checksum)
      return corrupt("is damaged: its checksum is another; materialise it again").with_key(key_);
    Result<Columns> columns = columns_of_index(file, codecs_);
    if (!columns.ok()) return Status(columns.status()).with_key(key_);
    *into_ = std::move(*columns);
    return JobWish();
  }

 private:
  const std::string key_;
  const StoredShard& shard_;
  const TableCodecs& codecs_;
  Columns* const into_;
};

Result<std::shared_ptr<const Source>> open_samples(const StoreAndPath& folder, MaterializedManifest manifest,
                                                   const TableCodecs& codecs, std::stop_token stop) {
  std::vector<ShardIndex> indices(manifest.shards.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i].key = below(folder.path, shard_file(static_cast<int64_t>(i)));
    indices[i].bytes = manifest.shards[i].bytes;
  }
  const auto make = [&](size_t i) -> std::unique_ptr<ReadingJob> {
    return std::make_unique<ShardIndexJob>(below(folder.path, index_file(static_cast<int64_t>(i))), manifest.shards[i],
                                           codecs, &indices[i].columns);
  };
  ReadingJobsOptions options;
  options.bytes = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<double>(manifest.shards[i].index_bytes) * kIndexGrows);
  };
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(*folder.store, indices.size(), make, options, stop));
  return MaterializedSamples::make(folder.store, std::move(manifest), std::move(indices));
}

Result<std::shared_ptr<const Source>> open_units(const StoreAndPath& folder, MaterializedManifest manifest,
                                                 const TableCodecs& codecs, std::stop_token stop) {
  TableFiles files{folder.store, below(folder.path, ""), {}};
  for (size_t i = 0; i < manifest.shards.size(); ++i)
    files.files.push_back({below(folder.path, shard_file(static_cast<int64_t>(i))), manifest.shards[i].bytes, 0});
  TableRequest request;
  request.format = TableRequest::Format::kArrow;
  request.selection.columns.emplace();
  for (const StoredField& stored : manifest.fields) request.selection.columns->push_back(stored.field.name);
  FOREBAY_ASSIGN(std::shared_ptr<const UnitSource> table, open_table_files(std::move(files), request, codecs, stop));
  if (table->size() != manifest.size)
    return corrupt(fmt::format("its shards have {} rows, the manifest {}; materialise it again", table->size(),
                               manifest.size))
        .with_key(folder.path);
  return std::shared_ptr<const Source>(std::make_shared<MaterializedUnits>(
      std::move(table), std::make_shared<const MaterializedManifest>(std::move(manifest))));
}

}  // namespace

Result<MaterializedManifest> read_manifest(const StoreAndPath& folder, std::stop_token stop) {
  const std::string key = below(folder.path, kManifestName);
  ReadRequest request{.key = key, .range = {}, .expected_size = {}};
  request.set_aside_bytes = kMostMaterializedBytes;
  const Result<Buffer> text = read_wait(*folder.store, request, stop);
  if (text.status().code() == Code::kNotFound)
    return not_found(
               "has no finished materialised data (no _manifest.json); if `materialize` was stopped there, run the "
               "same command "
               "again, and it goes on")
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
  return manifest.layout == MaterializedManifest::Layout::kUnits
             ? open_units(folder, std::move(manifest), codecs, stop)
             : open_samples(folder, std::move(manifest), codecs, stop);
}

}  // namespace forebay
