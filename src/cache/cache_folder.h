#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// What a folder of caches looks like:
///
/// | name | what |
/// |---|---|
/// | `budget` | locked (flock) by whoever measures, grows, adopts or removes anything |
/// | `<32 hexadecimal digits>/` | one place: the results of one row of steps |
/// | … `/lock` | shared lock of every process that uses the place; its time of change is when it was used last |
/// | … `/about.json` | the steps, for people |
/// | … `/claims` | a byte of it is locked by whoever writes the entry with that hash |
/// | … `/<n>.index`, `/<n>.data` | a segment: written by the one who holds the lock of its index, read by all |
inline constexpr std::string_view kBudgetFile = "budget";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kAboutFile = "about.json";
inline constexpr std::string_view kClaimsFile = "claims";
inline constexpr std::string_view kIndexEnding = ".index";
inline constexpr std::string_view kDataEnding = ".data";
inline constexpr std::string_view kRemovingPrefix = ".removing-";

/// $FOREBAY_CACHE_DIR, else $XDG_CACHE_HOME/forebay, else ~/.cache/forebay. InvalidArgument where none of them is set.
Result<std::string> default_cache_folder();

/// An open folder that belongs to this user alone. Symbolic links below it are never followed.
class CacheFolder {
 public:
  /// InvalidArgument where the folder belongs to someone else or others may write to it, with the command that mends it;
  /// NotFound where it is not there and not to be made; Unavailable where it cannot be made or read. Made folders are for the
  /// owner only.
  static Result<CacheFolder> open(const std::string& path, bool create);
  /// A folder in this one.
  Result<CacheFolder> open_below(const std::string& name, bool create) const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// A regular file of this user's; `flags` as for open(2). Files are made for the owner only.
  Result<FileDescriptor> open_file(std::string_view name, int flags) const;
  /// Names in it, sorted, "." and ".." left out.
  std::vector<std::string> names() const;
  /// What `name` is, links not followed; nothing where there is none.
  bool stat(std::string_view name, struct ::stat* info) const;
  /// False once the folder itself was removed or replaced.
  bool still_at(const CacheFolder& above, const std::string& name) const;

 private:
  CacheFolder(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<CacheFolder> checked(FileDescriptor fd, std::string path);

  FileDescriptor fd_;
  std::string path_;
};

/// flock() without waiting. False with EWOULDBLOCK in errno where somebody else has it.
bool try_flock(int fd, int operation);
/// Whether it could be had, which is given back at once: by name, since a process that was forked meanwhile has the descriptor, too.
bool flock_is_free(int fd, int operation);

/// The lock of a whole folder of caches, until destroyed. The kernel gives it back when its holder dies.
/// Held for as long as something is measured or grown, never while entries are written: other processes wait for it. Does not nest.
class FolderLock {
 public:
  /// Cancelled where somebody holds it for longer than `patience`; Unavailable where there is no writing here.
  static Result<FolderLock> take(const CacheFolder& folder, std::chrono::milliseconds patience);
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

/// "3f2a…" of 32 hexadecimal digits: a place's name.
bool is_place_name(std::string_view name);

}  // namespace forebay
