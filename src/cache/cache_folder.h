#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// Files of the root folder of all caches of a user:
///
/// | name | content |
/// |---|---|
/// | `budget` | locked (flock) to measure, grow, adopt or remove anything |
/// | `<32 hexadecimal digits>/` | one cache, named by its id: the results of one sequence of steps |
/// | … `/lock` | shared lock of each process that uses the cache; its mtime is the last use |
/// | … `/about.json` | the steps, for people |
/// | … `/claims` | one byte is locked while the entry with that hash is written |
/// | … `/<n>.index`, `/<n>.data` | a segment: written under its index's lock, read by all |
inline constexpr std::string_view kBudgetFile = "budget";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kAboutFile = "about.json";
inline constexpr std::string_view kClaimsFile = "claims";
inline constexpr std::string_view kIndexEnding = ".index";
inline constexpr std::string_view kDataEnding = ".data";
inline constexpr std::string_view kRemovingPrefix = ".removing-";

/// Returns $FOREBAY_CACHE_DIR, or else $XDG_CACHE_HOME/forebay, or else ~/.cache/forebay.
/// InvalidArgument if none of them is set.
Result<std::string> default_cache_folder();

/// An open folder that only this user can write to: the root, or the folder of one cache. Symbolic
/// links below it are never followed. Methods may be called from any thread.
class CacheFolder {
 public:
  /// Opens a folder. InvalidArgument, with a command that fixes it, if the folder belongs to
  /// another user or others may write to it; NotFound if it does not exist and `create` is false;
  /// Unavailable if it cannot be made or read. Created folders are accessible to the owner only.
  static Result<CacheFolder> open(const std::string& path, bool create);
  /// Opens a folder in this one.
  Result<CacheFolder> open_below(const std::string& name, bool create) const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// Opens a regular file of this user; `flags` as for open(2). Created files are accessible to the
  /// owner only.
  Result<FileDescriptor> open_file(std::string_view name, int flags) const;
  /// Returns the names in the folder, sorted, without "." and "..".
  std::vector<std::string> names() const;
  /// Returns the status of `name` without following links; nothing if there is no such name.
  std::optional<struct ::stat> stat(std::string_view name) const;
  /// Returns whether `parent` still has this folder under `name`: false once it was removed or
  /// replaced.
  bool exists_in(const CacheFolder& parent, const std::string& name) const;

 private:
  CacheFolder(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<CacheFolder> checked(FileDescriptor fd, std::string path);

  FileDescriptor fd_;
  std::string path_;
};

/// Calls flock() without waiting. Returns false with EWOULDBLOCK in errno if another process holds
/// the lock.
bool try_flock(int fd, int operation);
/// Returns whether the lock was free. Unlocks it explicitly, because a process forked meanwhile
/// shares the descriptor.
bool flock_is_free(int fd, int operation);

/// The lock of the root folder, held until destruction. The kernel releases it when its holder
/// dies. It is held while files are measured or limits raised, and never while entries are
/// written, because other processes wait for it. Does not nest.
class FolderLock {
 public:
  /// Takes the lock. Cancelled if another process holds it for longer than `patience`; Unavailable
  /// if the folder cannot be written to.
  static Result<FolderLock> take(const CacheFolder& folder, std::chrono::milliseconds patience);
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

/// Returns whether `name` is that of a cache: 32 hexadecimal digits such as "3f2a…".
bool is_cache_name(std::string_view name);

}  // namespace forebay
