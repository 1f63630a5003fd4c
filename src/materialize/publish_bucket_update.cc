#include "materialize/publish_bucket_update.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "materialize/unfinished_folder.h"

namespace forebay {

namespace {

/// Holds the replaced manifest, from before the new one is written until its files are deleted.
constexpr std::string_view kReplacedName = "_replaced.json";

Buffer bytes_of_manifest(const MaterializedManifest& manifest) {
  const std::string text = manifest.to_json();
  Buffer bytes = Buffer::allocate(text.size());
  std::copy(text.begin(), text.end(), bytes.data());
  return bytes;
}

std::vector<std::string> files_of(const MaterializedManifest& manifest) {
  std::vector<std::string> files;
  for (int64_t shard = 0; shard < static_cast<int64_t>(manifest.shards.size()); ++shard) {
    for (const std::string& file : {shard_file(shard, manifest.format), index_file(shard), identities_file(shard)})
      files.push_back(manifest.below + file);
  }
  if (!manifest.below.empty()) files.push_back(manifest.below + std::string(kManifestName));
  return files;
}

}  // namespace

Status erase_replaced(const OutputLocation& location) {
  const std::string name(kReplacedName);
  FOREBAY_ASSIGN(const std::optional<std::string> text, read_file(location, name));
  if (!text) return {};
  const Result<MaterializedManifest> replaced = MaterializedManifest::from_json(*text);
  if (replaced.ok()) {
    FOREBAY_ASSIGN(const std::optional<std::string> now, read_file(location, std::string(kManifestName)));
    const Result<MaterializedManifest> current =
        now ? MaterializedManifest::from_json(*now) : Result<MaterializedManifest>(MaterializedManifest());
    if (!now || !current.ok()) return {};
    if (current->below == replaced->below) return {};  // the new manifest was not written yet
    FOREBAY_RETURN_IF_ERROR(location.erase(files_of(*replaced)));
  }
  return location.erase({&name, 1});
}

Status publish_bucket_update(const OutputLocation& location, const OutputLocation& target, const std::string& below) {
  FOREBAY_ASSIGN(std::optional<MaterializedManifest> update, UnfinishedFolder::finished(target));
  if (!update) return {};
  update->below = below;
  FOREBAY_ASSIGN(const std::optional<MaterializedManifest> current, UnfinishedFolder::finished(location));
  if (!current || current->below != below) {
    FOREBAY_RETURN_IF_ERROR(erase_replaced(location));  // files that an earlier update replaced
    // Written before the new manifest, so that the old files can be found if this process is
    // killed.
    if (current) FOREBAY_RETURN_IF_ERROR(location.write(std::string(kReplacedName), bytes_of_manifest(*current)));
    FOREBAY_RETURN_IF_ERROR(location.write(std::string(kManifestName), bytes_of_manifest(*update)));
  }
  return erase_replaced(location);
}

}  // namespace forebay
