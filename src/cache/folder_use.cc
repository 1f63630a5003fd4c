#include "cache/folder_use.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/read_all.h"
#include "cache/budget_limits.h"
#include "cache/segment_format.h"

namespace forebay {

namespace {

uint64_t disk_space_of(const struct ::stat& info) {
  // st_blocks counts units of 512 bytes on every file system (stat(2)). Holes count as filled,
  // because they may be filled later.
  return std::max(disk_space_of_size(static_cast<uint64_t>(info.st_size)), static_cast<uint64_t>(info.st_blocks) * 512);
}

/// Returns the limits to which the writer of a segment may let it grow; zeros if it has no writer.
SegmentHeader limits_of(const CacheFolder& cache, const std::string& index) {
  const auto file = cache.open_file(index, O_RDONLY);
  SegmentHeader header;
  // If a shared lock is free, no writer holds the exclusive one.
  if (!file.ok() || flock_is_free(file->get(), LOCK_SH) || !read_all(file->get(), &header, sizeof header, 0)) return {};
  return header.valid() ? header : SegmentHeader();
}

bool has_user(const CacheFolder& cache) {
  const auto lock = cache.open_file(kLockFile, O_RDONLY);
  return lock.ok() && !flock_is_free(lock->get(), LOCK_EX);
}

CacheDiskUse measure_cache(const CacheFolder& cache, const std::string& name) {
  CacheDiskUse use{name, 0, 0, has_user(cache)};
  std::map<std::string, uint64_t> growing;
  const std::vector<std::string> names = cache.names();
  for (const std::string& file : names) {
    if (!file.ends_with(kIndexEnding)) continue;
    const SegmentHeader limits = limits_of(cache, file);
    growing[file] = disk_space_of_limit(limits.index_limit);
    growing[file.substr(0, file.size() - kIndexEnding.size()) + std::string(kDataEnding)] =
        disk_space_of_limit(limits.data_limit);
  }
  for (const std::string& file : names) {
    const std::optional<struct ::stat> info = cache.stat(file);
    if (!info) continue;
    use.bytes += std::max(disk_space_of(*info), growing[file]);
    growing.erase(file);
    if (file == kLockFile) use.last_used_ns = info->st_mtim.tv_sec * int64_t{1'000'000'000} + info->st_mtim.tv_nsec;
  }
  // Data files that are about to be created.
  for (const auto& [file, bytes] : growing) use.bytes += bytes;
  return use;
}

void remove_files(const CacheFolder& above, const std::string& name) {
  if (const auto removed = above.open_below(name, false); removed.ok()) {
    for (const std::string& file : removed->names()) ::unlinkat(removed->fd(), file.c_str(), 0);
  }
  ::unlinkat(above.fd(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace

FolderUse measure_folder(const CacheFolder& root) {
  FolderUse use;
  struct ::stat own;
  // Folders use blocks of their own, more with many names; the budget covers everything on the
  // disk.
  if (::fstat(root.fd(), &own) == 0) use.bytes += disk_space_of(own);
  for (const std::string& name : root.names()) {
    const std::optional<struct ::stat> info = root.stat(name);
    if (!info) continue;
    if (name == kBudgetFile) use.bytes += disk_space_of(*info);
    if (!S_ISDIR(info->st_mode) || !(is_cache_name(name) || name.starts_with(kRemovingPrefix))) continue;
    use.bytes += disk_space_of(*info);
    const auto cache = root.open_below(name, false);
    if (!cache.ok()) continue;
    const CacheDiskUse found = measure_cache(*cache, name);
    use.bytes += found.bytes;
    if (is_cache_name(name)) use.caches.push_back(found);
  }
  return use;
}

void finish_removals(const CacheFolder& root) {
  for (const std::string& name : root.names()) {
    if (name.starts_with(kRemovingPrefix)) remove_files(root, name);
  }
}

bool remove_cache(const CacheFolder& root, const std::string& name) {
  // Renamed first, so that a half-removed cache does not look like a cache.
  const std::string aside = std::string(kRemovingPrefix) + name;
  if (::renameat(root.fd(), name.c_str(), root.fd(), aside.c_str()) != 0) return false;
  remove_files(root, aside);
  return true;
}

uint64_t make_room(const CacheFolder& root, uint64_t budget_bytes, uint64_t wanted) {
  FolderUse use = measure_folder(root);
  // Separate from `use`, which is measured again after each removal.
  std::vector<CacheDiskUse> caches = std::move(use.caches);
  std::ranges::sort(caches, {}, &CacheDiskUse::last_used_ns);
  const auto free = [&] {
    return std::min(budget_bytes - std::min(budget_bytes, use.bytes), available_disk_space(root));
  };
  if (free() >= wanted) return free();
  finish_removals(root);
  for (const CacheDiskUse& cache : caches) {
    // No process can begin to use it meanwhile: that needs the FolderLock, which is held here.
    if (cache.in_use || !remove_cache(root, cache.name)) continue;
    use = measure_folder(root);
    if (free() >= wanted) break;
  }
  return free();
}

std::vector<int> cache_users(const CacheFolder& cache) {
  std::vector<int> pids;
  const std::optional<struct ::stat> info = cache.stat(kLockFile);
  if (!info) return pids;
  const std::string inode =
      // In the form of /proc/locks: device numbers in hexadecimal, the inode in decimal (proc(5)).
      fmt::format("{:02x}:{:02x}:{}", ::major(info->st_dev), ::minor(info->st_dev),
                  static_cast<uint64_t>(info->st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    char kind[16] = {}, advisory[16] = {}, mode[16] = {}, where[64] = {};
    int pid = 0;
    // A process that waits for a lock has "->" in place of the kind, so it does not count.
    if (std::sscanf(line.c_str(), "%*d: %15s %15s %15s %d %63s", kind, advisory, mode, &pid, where) != 5) continue;
    if (std::string_view(kind) == "FLOCK" && where == inode && pid > 0) pids.push_back(pid);
  }
  std::ranges::sort(pids);
  return pids;
}

}  // namespace forebay
