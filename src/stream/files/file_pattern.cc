#include "stream/files/file_pattern.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "base/utf8.h"
#include "format/files/braces.h"
#include "format/files/glob.h"
#include "format/files/path_pattern.h"
#include "store/local/local_file.h"
#include "store/local/local_store.h"

namespace forebay {

namespace {

struct CloseFolder {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

int64_t nanoseconds_of(const struct ::timespec& time) {
  const int64_t ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  // Places are never negative (FolderPlace::parse()), and no file is older than 1970.
  return std::max<int64_t>(ns, 0);
}

enum class Entry : uint8_t { kFile, kFolder, kOther };

/// Returns the kind of `name` in the folder. The time of a link is the later one of its own and
/// that of the file that it points to.
Entry look_at_entry(int folder, const char* name, SeenFile& file) {
  struct ::stat info;
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return Entry::kOther;
  // ctime is used because users can set mtime (decision 42).
  file.changed_ns = nanoseconds_of(info.st_ctim);
  if (S_ISDIR(info.st_mode)) return Entry::kFolder;
  if (S_ISLNK(info.st_mode)) {
    if (::fstatat(folder, name, &info, 0) != 0) return Entry::kOther;
    file.changed_ns = std::max(file.changed_ns, nanoseconds_of(info.st_ctim));
  }
  file.size = static_cast<uint64_t>(info.st_size);
  return S_ISREG(info.st_mode) ? Entry::kFile : Entry::kOther;
}

Status stopped_looking() { return cancelled("stopped while looking for files"); }

/// Scans the folders in which one pattern may match.
class FolderSearch {
 public:
  FolderSearch(const Glob& glob, const std::stop_token& stop, const std::function<void(SeenFile&&)>& seen)
      : glob_(glob), stop_(stop), seen_(seen) {}

  Status run() {
    // An explicit list instead of recursion, since folders may nest to any depth.
    left_.push_back("");
    while (!left_.empty()) {
      const std::string below = std::move(left_.back());
      left_.pop_back();
      if (stop_.stop_requested()) return stopped_looking();
      FOREBAY_RETURN_IF_ERROR(look_into(below));
    }
    return {};
  }

 private:
  Status look_into(const std::string& below) {
    const std::string path = glob_.base() + below;
    const OpenFolder folder(::opendir(path.empty() ? "." : path.c_str()));
    if (!folder) {
      // The folder in which the search begins must exist.
      const bool vanished = !below.empty() && (errno == ENOENT || errno == ENOTDIR);
      return vanished ? Status() : status_of_errno(errno).with_key(path);
    }
    while (const dirent* const entry = ::readdir(folder.get())) {
      if (entry->d_name[0] != '.') look_at_name(::dirfd(folder.get()), below, entry->d_name);
    }
    return {};
  }

  void look_at_name(int folder, const std::string& below, const char* name) {
    const std::string path = below + name;
    const bool matching = glob_.matches(path);
    // Checked before the stat, which costs most: the name alone excludes most entries.
    if (!matching && !glob_.may_match_below(path + '/')) return;
    SeenFile file;
    const Entry entry = look_at_entry(folder, name, file);
    if (entry == Entry::kFolder && glob_.may_match_below(path + '/')) left_.push_back(path + '/');
    if (entry != Entry::kFile || !matching) return;
    file.path = glob_.base() + path;
    seen_(std::move(file));
  }

  const Glob& glob_;
  const std::stop_token& stop_;
  const std::function<void(SeenFile&&)>& seen_;
  std::vector<std::string> left_;  ///< folders below the base
};

}  // namespace

Result<FilePattern> FilePattern::of(std::string pattern) {
  FilePattern made;
  if (pattern.empty() || pattern.find('\0') != std::string::npos)
    return invalid_argument("the pattern of files is empty, or holds a zero byte");
  FOREBAY_ASSIGN(const std::string escaped, escape_existing(*local_store(""), pattern, {}));
  FOREBAY_ASSIGN(made.alternatives_, expand_braces(escaped));
  // The base ends at the last folder without a wildcard, so keys do not depend on how the rest is
  // written.
  made.base_ = pattern_base(escaped);
  made.pattern_ = std::move(pattern);
  return made;
}

Status FilePattern::scan(const std::stop_token& stop, const std::function<void(SeenFile&&)>& all) const {
  Status unnameable;
  // Names are part of offsets and partitions, which states and journals store as JSON.
  const std::function<void(SeenFile&&)> seen = [&](SeenFile&& file) {
    if (is_utf8(file.path)) return all(std::move(file));
    unnameable = unsupported("its name is not UTF-8, so that no state could name it; rename it").with_key(file.path);
  };
  for (const std::string& alternative : alternatives_) {
    if (stop.stop_requested()) return stopped_looking();
    if (first_wildcard(alternative) != std::string::npos) {
      FOREBAY_RETURN_IF_ERROR(FolderSearch(Glob(alternative), stop, seen).run());
    } else if (auto file = look_at(without_escapes(alternative)); file.ok()) {
      seen(std::move(file).value());
    } else if (file.status().code() != Code::kNotFound) {
      return file.status();
    }
  }
  return unnameable;
}

Result<SeenFile> FilePattern::look_at(const std::string& path) {
  SeenFile file{path};
  // Reset, since kOther with an old errno would report a wrong reason.
  errno = 0;
  switch (look_at_entry(AT_FDCWD, path.c_str(), file)) {
    case Entry::kFile: return file;
    case Entry::kFolder:
      return unsupported(fmt::format("is a folder, not a file; for the files below it use '{}/**'", path))
          .with_key(path);
    case Entry::kOther: break;
  }
  return (errno != 0 ? status_of_errno(errno) : unsupported("is no regular file")).with_key(path);
}

}  // namespace forebay
