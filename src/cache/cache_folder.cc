#include "cache/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Status cannot(std::string_view what, const std::string& path, int error) {
  return unavailable(fmt::format("the cache's folder {} cannot be {}: {}", path, what, std::strerror(error)));
}

/// Makes all missing folders of the path, accessible to the owner only.
Status make_folders(const std::string& path) {
  std::filesystem::path prefix;
  for (const auto& part : std::filesystem::path(path)) {
    prefix /= part;
    if (::mkdir(prefix.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      struct ::stat info;
      if (::stat(prefix.c_str(), &info) != 0) return cannot("made", path, errno);
    }
  }
  return {};
}

}  // namespace

Result<std::string> default_cache_folder() {
  if (const char* own = std::getenv("FOREBAY_CACHE_DIR"); own != nullptr && *own != '\0') return std::string(own);
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    return std::string(xdg) + "/forebay";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/forebay";
  return invalid_argument("there is no folder for caches: give dir=, or set FOREBAY_CACHE_DIR or HOME");
}

Result<CacheFolder> CacheFolder::open(const std::string& path, bool create) {
  std::error_code error;
  const std::string full = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error || path.find('\0') != std::string::npos) return invalid_argument("the cache's dir is no path");
  if (create) FOREBAY_RETURN_IF_ERROR(make_folders(full));
  FileDescriptor fd(::open(full.c_str(), kFolderFlags));
  if (fd.valid()) return checked(std::move(fd), full);
  if (errno == ENOENT) return not_found(fmt::format("there is no folder {}", full));
  if (errno == ENOTDIR) return invalid_argument(fmt::format("the cache's dir {} is a file; give a folder", full));
  return cannot("opened", full, errno);
}

Result<CacheFolder> CacheFolder::open_below(const std::string& name, bool create) const {
  const std::string full = path_ + '/' + name;
  if (create && ::mkdirat(fd_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return cannot("made", full, errno);
  // Opened relative to the open folder and without links, so that a rename meanwhile cannot lead
  // elsewhere.
  FileDescriptor fd(::openat(fd_.get(), name.c_str(), kFolderFlags | O_NOFOLLOW));
  if (fd.valid()) return checked(std::move(fd), full);
  if (errno == ENOENT) return not_found(fmt::format("there is no folder {}", full));
  return cannot("opened", full, errno);
}

Result<CacheFolder> CacheFolder::checked(FileDescriptor fd, std::string path) {
  struct ::stat info;
  if (::fstat(fd.get(), &info) != 0) return cannot("read", path, errno);
  if (info.st_uid != ::geteuid()) {
    return invalid_argument(
        fmt::format("the cache's folder {} belongs to another user (uid {}), who could put anything "
                    "there; give a dir= of your own",
                    path, info.st_uid));
  }
  // Entries are trusted if their checksums match, which anybody can compute.
  if (info.st_mode & kWritableByOthers) {
    return invalid_argument(fmt::format(
        "others may write to the cache's folder {}, so what is there cannot be trusted; run: chmod go-w '{}'", path,
        path));
  }
  return CacheFolder(std::move(fd), std::move(path));
}

Result<FileDescriptor> CacheFolder::open_file(std::string_view name, int flags) const {
  // O_NONBLOCK keeps a FIFO of that name from blocking; it is refused below.
  FileDescriptor fd(::openat(fd_.get(), std::string(name).c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd.valid()) {
    const int error = errno;
    const std::string text = fmt::format("{}/{}: {}", path_, name, std::strerror(error));
    return error == ENOENT ? not_found(text) : unavailable(text);
  }
  struct ::stat info;
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
    return unavailable(fmt::format("{}/{} is no file of this user's", path_, name));
  return fd;
}

std::vector<std::string> CacheFolder::names() const {
  std::vector<std::string> names;
  const int fd = ::openat(fd_.get(), ".", kFolderFlags);
  const std::unique_ptr<DIR, CloseDir> dir(fd < 0 ? nullptr : ::fdopendir(fd));
  if (!dir) {
    if (fd >= 0) ::close(fd);
    return names;
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::optional<struct ::stat> CacheFolder::stat(std::string_view name) const {
  struct ::stat info;
  if (::fstatat(fd_.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return info;
}

bool CacheFolder::exists_in(const CacheFolder& parent, const std::string& name) const {
  const std::optional<struct ::stat> found = parent.stat(name);
  struct ::stat own;
  // The device is compared, too, because inode numbers repeat on other devices.
  return found && ::fstat(fd_.get(), &own) == 0 && found->st_ino == own.st_ino && found->st_dev == own.st_dev;
}

bool try_flock(int fd, int operation) {
  int result;
  do {
    // flock(2) rather than fcntl(2): its lock belongs to the open file, so closing another
    // descriptor of the same file does not release it.
    result = ::flock(fd, operation | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool flock_is_free(int fd, int operation) {
  const bool locked = try_flock(fd, operation);
  if (locked) ::flock(fd, LOCK_UN);
  return locked;
}

// Unlocked explicitly: the lock belongs to the open file, which a process forked meanwhile keeps
// open.
FolderLock::~FolderLock() {
  if (fd_.valid()) ::flock(fd_.get(), LOCK_UN);
}

Result<FolderLock> FolderLock::take(const CacheFolder& folder, std::chrono::milliseconds patience) {
  FOREBAY_ASSIGN(FileDescriptor fd, folder.open_file(kBudgetFile, O_RDWR | O_CREAT));
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!try_flock(fd.get(), LOCK_EX)) {
    if (errno != EWOULDBLOCK)
      return unavailable(
          fmt::format("{}/{} cannot be locked: {}; give dir= a folder of a file system that knows flock()",
                      folder.path(), kBudgetFile, std::strerror(errno)));
    if (std::chrono::steady_clock::now() >= until) {
      return cancelled(fmt::format("another process has locked {}/{} for {} ms; is it stopped?", folder.path(),
                                   kBudgetFile, patience.count()));
    }
    // Polled, because a waiting flock() has no timeout.
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return FolderLock(std::move(fd));
}

bool is_cache_name(std::string_view name) {
  Hash128 parsed;
  return Hash128::parse(name, &parsed) && parsed.to_string() == name;
}

}  // namespace forebay
