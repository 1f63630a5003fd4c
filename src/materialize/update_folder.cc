#include "materialize/update_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "format/materialized/manifest.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr const char* kParts[] = {"", "_index", "_identities"};

/// Holds the lock of a folder.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool sync() const { return fd_ >= 0 && ::fsync(fd_) == 0; }

 private:
  const int fd_;
};

std::optional<MaterializedManifest> manifest_in(const fs::path& folder) {
  std::ifstream file(folder / kManifestName, std::ios::binary);
  if (!file) return std::nullopt;
  Result<MaterializedManifest> read =
      MaterializedManifest::from_json(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!read.ok()) return std::nullopt;
  return std::move(*read);
}

bool is_part(const fs::path& path) { return path.filename().string().starts_with("part-"); }

std::vector<fs::path> parts_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const fs::path& entry : entries_of(folder))
    if (fs::is_regular_file(entry, none) && is_part(entry)) found.push_back(entry);
  return found;
}

// Moves the new files of all parts, and then deletes the files that the manifest does not name.
void move_parts(const fs::path& from, const fs::path& to, const MaterializedManifest& manifest) {
  std::set<std::string> known;
  for (int64_t shard = 0; shard < static_cast<int64_t>(manifest.shards.size()); ++shard)
    known.insert({shard_file(shard, manifest.format), index_file(shard), identities_file(shard)});
  for (const char* part : kParts) {
    fs::create_directories(to / part);
    for (const fs::path& file : parts_in(from / part)) fs::rename(file, to / part / file.filename());
    for (const fs::path& file : parts_in(to / part))
      if (!known.contains((fs::path(part) / file.filename()).string())) fs::remove(file);
  }
}

// Deletes the folders if they are empty.
void remove_empty(const fs::path& update) {
  std::error_code ignored;
  for (const char* part : {"_index", "_identities"}) fs::remove(update / part, ignored);
  fs::remove(update, ignored);
}

}  // namespace

std::string update_folder(const std::string& folder) { return (fs::path(folder) / "_update").string(); }

Status begin_update(const std::string& folder) {
  // publish_folder_update() holds the lock, too, from its check to its deletion.
  const FolderLock lock{fs::path(folder)};
  const fs::path update(update_folder(folder));
  std::error_code failed;
  for (const std::string_view part : {kUnfinishedFolder, std::string_view("_index"), std::string_view("_identities")})
    if (!failed) fs::create_directories(update / part, failed);
  if (!failed) return {};
  return Status(Code::kUnavailable, fmt::format("cannot be made: {}", failed.message())).with_key(update.string());
}

Status publish_folder_update(const std::string& folder) {
  const fs::path to(folder), from(update_folder(folder));
  std::error_code none;
  if (!fs::is_directory(from, none)) return {};
  const FolderLock lock(to);
  const std::optional<MaterializedManifest> manifest = manifest_in(from);
  if (!manifest) {
    if (!fs::exists(from / kUnfinishedFolder, none)) remove_empty(from);
    return {};
  }
  try {
    // From here on, the folder has the new manifest or none. A reader must not find a manifest
    // whose files are being replaced.
    fs::remove(to / kManifestName);
    lock.sync();
    move_parts(from, to, *manifest);
    fs::rename(from / kManifestName, to / kManifestName);
    lock.sync();
    fs::remove_all(from);
  } catch (const fs::filesystem_error& failed) {
    return Status(Code::kUnavailable,
                  fmt::format("cannot be brought up to date: {}; run the same command again to continue",
                              failed.code().message()))
        .with_key(folder);
  }
  return {};
}

void delete_unfinished(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(update_folder(folder), ignored);
  fs::remove_all(fs::path(folder) / kUnfinishedFolder, ignored);
}

}  // namespace forebay
