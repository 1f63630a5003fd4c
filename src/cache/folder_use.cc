#include "cache/folder_use.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/read_all.h"
#include "cache/budget_limits.h"
#include "cache/segment_format.h"

namespace forebay {

namespace {

uint64_t room_of(const struct ::stat& info) {
  // st_blocks counts units of 512 bytes on every file system (stat(2)). Holes count as filled,
  // because they may be filled later.
  return std::max(room_of_size(static_cast<uint64_t>(info.st_size)), static_cast<uint64_t>(info.st_blocks) * 512);
}

/// Returns the limits to which the writer of a segment may let it grow; zeros if it has no writer.
SegmentHeader limits_of(const CacheFolder& place, const std::string& index) {
  const auto file = place.open_file(index, O_RDONLY);
  SegmentHeader header;
  // If a shared lock is free, no writer holds the exclusive one.
  if (!file.ok() || flock_is_free(file->get(), LOCK_SH) || !read_all(file->get(), &header, sizeof header, 0)) return {};
  return header.valid() ? header : SegmentHeader();
}

bool has_user(const CacheFolder& place) {
  const auto lock = place.open_file(kLockFile, O_RDONLY);
  return lock.ok() && !flock_is_free(lock->get(), LOCK_EX);
}

PlaceUse measure_place(const CacheFolder& place, const std::string& name) {
  PlaceUse use{name, 0, 0, has_user(place)};
  std::map<std::string, uint64_t> growing;
  const std::vector<std::string> names = place.names();
  for (const std::string& file : names) {
    if (!file.ends_with(kIndexEnding)) continue;
    const SegmentHeader limits = limits_of(place, file);
    growing[file] = room_of_limit(limits.index_limit);
    growing[file.substr(0, file.size() - kIndexEnding.size()) + std::string(kDataEnding)] =
        room_of_limit(limits.data_limit);
  }
  struct ::stat info;
  for (const std::string& file : names) {
    if (!place.stat(file, &info)) continue;
    use.bytes += std::max(room_of(info), growing[file]);
    growing.erase(file);
    if (file == kLockFile) use.last_used_ns = info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
  }
  // Data files that are about to be created.
  for (const auto& [file, bytes] : growing) use.bytes += bytes;
  return use;
}

void remove_files(const CacheFolder& above, const std::string& name) {
  if (const auto folder = above.open_below(name, false); folder.ok()) {
    for (const std::string& file : folder->names()) ::unlinkat(folder->fd(), file.c_str(), 0);
  }
  ::unlinkat(above.fd(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace

FolderUse measure_folder(const CacheFolder& folder) {
  FolderUse use;
  struct ::stat info;
  // Folders use blocks of their own, more with many names; the budget covers everything on the
  // disk.
  if (::fstat(folder.fd(), &info) == 0) use.bytes += room_of(info);
  for (const std::string& name : folder.names()) {
    if (!folder.stat(name, &info)) continue;
    if (name == kBudgetFile) use.bytes += room_of(info);
    if (!S_ISDIR(info.st_mode) || !(is_place_name(name) || name.starts_with(kRemovingPrefix))) continue;
    use.bytes += room_of(info);
    const auto place = folder.open_below(name, false);
    if (!place.ok()) continue;
    const PlaceUse found = measure_place(*place, name);
    use.bytes += found.bytes;
    if (is_place_name(name)) use.places.push_back(found);
  }
  return use;
}

void finish_removals(const CacheFolder& folder) {
  for (const std::string& name : folder.names()) {
    if (name.starts_with(kRemovingPrefix)) remove_files(folder, name);
  }
}

bool remove_place(const CacheFolder& folder, const std::string& name) {
  // Renamed first, so that a half-removed place does not look like a place.
  const std::string aside = std::string(kRemovingPrefix) + name;
  if (::renameat(folder.fd(), name.c_str(), folder.fd(), aside.c_str()) != 0) return false;
  remove_files(folder, aside);
  return true;
}

uint64_t make_room(const CacheFolder& folder, uint64_t budget_bytes, uint64_t wanted) {
  FolderUse use = measure_folder(folder);
  // Separate from `use`, which is measured again after each removal.
  std::vector<PlaceUse> places = std::move(use.places);
  std::ranges::sort(places, {}, &PlaceUse::last_used_ns);
  const auto free = [&] { return std::min(budget_bytes - std::min(budget_bytes, use.bytes), disk_spare(folder)); };
  if (free() >= wanted) return free();
  finish_removals(folder);
  for (const PlaceUse& place : places) {
    // No process can begin to use it meanwhile: that needs the FolderLock, which is held here.
    if (place.in_use || !remove_place(folder, place.name)) continue;
    use = measure_folder(folder);
    if (free() >= wanted) break;
  }
  return free();
}

std::vector<int> users_of_place(const CacheFolder& place) {
  std::vector<int> pids;
  struct ::stat info;
  if (!place.stat(kLockFile, &info)) return pids;
  const std::string inode =
      // In the form of /proc/locks: device numbers in hexadecimal, the inode in decimal (proc(5)).
      fmt::format("{:02x}:{:02x}:{}", ::major(info.st_dev), ::minor(info.st_dev), static_cast<uint64_t>(info.st_ino));
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
