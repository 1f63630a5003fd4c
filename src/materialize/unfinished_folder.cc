#include "materialize/unfinished_folder.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace forebay {

namespace {

std::string shard_entry(int64_t shard) { return fmt::format("{}/part-{:05}.json", kUnfinishedFolder, shard); }
std::string job_file() { return fmt::format("{}/job.json", kUnfinishedFolder); }

Buffer bytes_of_text(std::string_view text) {
  Buffer bytes = Buffer::allocate(text.size());
  std::ranges::copy(text, bytes.data());
  return bytes;
}

std::optional<UnfinishedFolder::Job> parse_job(const std::string& text) {
  if (nests_too_deep(text)) return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("what") || !json.contains("how")) return std::nullopt;
  return UnfinishedFolder::Job{json["what"].dump(), json["how"].dump()};
}

// File of a job that some process has begun.
struct JobFile {
  bool exists = false;
  std::optional<UnfinishedFolder::Job> job;  ///< nothing if the file is damaged
};
Result<JobFile> read_job(const OutputLocation& location) {
  FOREBAY_ASSIGN(const std::optional<std::string> text, read_file(location, job_file()));
  return JobFile{text.has_value(), text ? parse_job(*text) : std::nullopt};
}

}  // namespace

Result<std::optional<MaterializedManifest>> UnfinishedFolder::finished(const OutputLocation& location) {
  const std::string file(kManifestName);
  FOREBAY_ASSIGN(const std::optional<std::string> text, read_file(location, file));
  if (!text) return std::optional<MaterializedManifest>();
  Result<MaterializedManifest> manifest = MaterializedManifest::from_json(*text);
  if (!manifest.ok()) return Status(manifest.status()).with_key(location.name_of(file));
  location.clear();
  return std::optional(std::move(*manifest));
}

Result<std::optional<std::string>> UnfinishedFolder::steps_of(const OutputLocation& location) {
  const auto steps = [](const std::string& manifest) -> std::optional<std::string> {
    const Result<MaterializedManifest> read = MaterializedManifest::from_json(manifest);
    return read.ok() ? std::optional(read->steps) : std::nullopt;
  };
  FOREBAY_ASSIGN(const std::optional<std::string> text, read_file(location, std::string(kManifestName)));
  if (text) return steps(*text);
  FOREBAY_ASSIGN(const JobFile begun, read_job(location));
  return begun.job ? steps(begun.job->manifest_json) : std::nullopt;
}

Result<UnfinishedFolder> UnfinishedFolder::open(Location location, Job job) {
  UnfinishedFolder opened(std::move(location), std::move(job));
  FOREBAY_ASSIGN(const MaterializedManifest manifest, MaterializedManifest::from_json(opened.job_.manifest_json));
  opened.format_ = manifest.format;
  FOREBAY_RETURN_IF_ERROR(opened.begin());
  return opened;
}

Status UnfinishedFolder::begin() {
  FOREBAY_RETURN_IF_ERROR(location_->make());
  FOREBAY_ASSIGN(JobFile begun, read_job(*location_));
  if (!begun.job) {
    const nlohmann::json json = {{"what", nlohmann::json::parse(job_.manifest_json)},
                                 {"how", nlohmann::json::parse(job_.plan_json)}};
    const Buffer text = bytes_of_text(json.dump(1) + "\n");
    // If several processes begin at once, the first one decides. A damaged job is overwritten.
    FOREBAY_RETURN_IF_ERROR(begun.exists ? location_->write(job_file(), text) : location_->write_new(job_file(), text));
    FOREBAY_ASSIGN(begun, read_job(*location_));
  }
  // Parsed and dumped like the text that was read, so that both have the same form.
  const std::string wanted = nlohmann::json::parse(job_.manifest_json).dump();
  if (!begun.job || begun.job->manifest_json != wanted)
    return invalid_argument(
               "holds unfinished data of another pipeline, cut or version of the data; give another "
               "folder, or remove this one")
        .with_key(location_->name());
  job_ = *begun.job;
  return {};
}

Result<std::vector<std::optional<StoredShard>>> UnfinishedFolder::finished_shards(
    std::span<const int64_t> shards) const {
  std::vector<std::string> entries;
  for (const int64_t shard : shards) entries.push_back(shard_entry(shard));
  FOREBAY_ASSIGN(const std::vector<std::optional<std::string>> texts, location_->read(entries));
  std::vector<std::optional<StoredShard>> found(shards.size());
  std::vector<std::string> files;
  std::vector<std::pair<size_t, uint64_t>> wanted;  // per file: index in `found`, and size
  for (size_t i = 0; i < shards.size(); ++i) {
    const Result<StoredShard> entry = shard_from_json(texts[i].value_or(""));
    if (!entry.ok()) continue;
    found[i] = *entry;
    files.push_back(shard_file(shards[i], format_));
    wanted.emplace_back(i, entry->bytes);
    if (entry->index_bytes == 0) continue;
    files.push_back(index_file(shards[i]));
    wanted.emplace_back(i, entry->index_bytes);
  }
  FOREBAY_ASSIGN(const std::vector<std::optional<uint64_t>> sizes, location_->sizes(files));
  // An entry may have outlived its file. Only sizes are compared: reading all files to compare
  // checksums would cost as much as making them.
  for (size_t i = 0; i < files.size(); ++i)
    if (sizes[i] != wanted[i].second) found[wanted[i].first].reset();
  return found;
}

Result<StoredShard> UnfinishedFolder::put(int64_t shard, int64_t rows, const ShardFiles& files) const {
  StoredShard entry;
  entry.rows = rows;
  entry.bytes = files.data.size();
  entry.checksum = files.data.hash();
  FOREBAY_RETURN_IF_ERROR(location_->write(shard_file(shard, format_), files.data));
  if (!files.index.empty()) {
    entry.index_bytes = files.index.size();
    entry.index_checksum = hash128(files.index.data(), files.index.size());
    FOREBAY_RETURN_IF_ERROR(location_->write(index_file(shard), files.index));
  }
  FOREBAY_RETURN_IF_ERROR(location_->write(identities_file(shard), files.identities));
  // The entry is written last, so that a reader that finds it also finds the files.
  FOREBAY_RETURN_IF_ERROR(location_->write(shard_entry(shard), bytes_of_text(to_json(entry))));
  return entry;
}

Status UnfinishedFolder::finish(const MaterializedManifest& manifest) const {
  FOREBAY_RETURN_IF_ERROR(location_->write(std::string(kManifestName), bytes_of_text(manifest.to_json())));
  location_->clear();
  return {};
}

}  // namespace forebay
