#include "cli/inspect_shards.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cache/cache_folder.h"
#include "format/webdataset/open_webdataset.h"
#include "format/webdataset/read_indexes.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 1> kShardEndings = {".tar"};

std::string field_type(const std::string& extension) {
  switch (kind_of_extension(extension)) {
    case ExtensionKind::kInteger: return "int64";
    case ExtensionKind::kText: return "text";
    case ExtensionKind::kPickle: return "refused";
    default: return "bytes";
  }
}

std::string byte_extent(const Extent& extent) {
  if (extent.empty()) return "none";
  return fmt::format("{} to {}", format_byte_size(static_cast<uint64_t>(extent.min)),
                     format_byte_size(static_cast<uint64_t>(extent.max)));
}

}  // namespace

bool are_shards(std::span<const std::string> urls) {
  return std::ranges::all_of(urls, [](const std::string& url) { return url.ends_with(".tar"); });
}

void ShardsReport::add(uint64_t shard_bytes, const TarIndex& index) {
  ++shards;
  bytes += shard_bytes;
  samples += static_cast<int64_t>(index.samples.size());
  shard_samples.add(static_cast<int64_t>(index.samples.size()));
  for (size_t sample = 0; sample < index.samples.size(); ++sample) {
    std::set<uint32_t> seen;
    sample_bytes.add(static_cast<int64_t>(index.end_of(sample) - index.samples[sample].begin));
    for (const TarIndex::File& file : index.files_of(sample)) {
      ExtensionCounts& found = extensions[index.extensions[file.extension]];
      ++found.files;
      found.bytes += file.bytes;
      found.file_bytes.add(static_cast<int64_t>(file.bytes));
      if (seen.insert(file.extension).second) ++found.samples;
    }
  }
  for (auto& [extension, found] : extensions) found.field_type = field_type(extension);
}

SortedJson ShardsReport::to_json() const {
  SortedJson found = SortedJson::object();
  for (const auto& [extension, one] : extensions) {
    found[extension] = {{"becomes", one.field_type},
                        {"bytes", one.bytes},
                        {"file", one.file_bytes.to_json()},
                        {"files", one.files},
                        {"missing", samples - one.samples}};
  }
  return {{"bytes", {{"total", bytes}, {"sample", sample_bytes.to_json()}}},
          {"count", samples},
          {"extensions", found},
          {"shard_samples", shard_samples.to_json()},
          {"shards", shards},
          {"url", url}};
}

std::string ShardsReport::to_text() const {
  std::string text = fmt::format("{}: {} sample{} in {} shard{}, {}\n", url, samples, samples == 1 ? "" : "s", shards,
                                 shards == 1 ? "" : "s", format_byte_size(bytes));
  if (!shard_samples.empty())
    text += fmt::format("samples     {} to {} a shard, {} each\n", shard_samples.min, shard_samples.max,
                        byte_extent(sample_bytes));
  for (const auto& [extension, one] : extensions) {
    text += fmt::format("{:<11} {}, {}", extension, one.field_type, byte_extent(one.file_bytes));
    if (one.samples < samples) text += fmt::format("; {} samples have none", samples - one.samples);
    if (one.files > one.samples) text += "; some samples have several";
    text += one.field_type == "refused" ? "; a pickle: name the other fields in fields=\n" : "\n";
  }
  return text;
}

Result<ShardsReport> inspect_shards(const std::vector<std::string>& urls, const StorageOptions& storage,
                                    std::stop_token stop) {
  ShardsReport report;
  report.url = urls.size() == 1 ? urls.front() : fmt::format("{} and {} more", urls.front(), urls.size() - 1);
  FOREBAY_ASSIGN(StoreAndPath at, open_store(urls.front(), storage));
  FOREBAY_ASSIGN(DataFiles files, find_data_files(std::move(at), {urls.size() > 1, urls, kShardEndings}, stop));
  const Result<std::string> caches = default_cache_folder();
  FOREBAY_ASSIGN(const std::vector<TarIndex> indexes,
                 read_shard_indexes(files, {.kept = caches.ok() ? kept_indexes_folder(*caches) : ""}, stop));
  for (size_t i = 0; i < indexes.size(); ++i) report.add(*files.files[i].size, indexes[i]);
  return report;
}

}  // namespace forebay
