#include "store/local/local_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "store/local/local_file.h"

namespace forebay {

namespace {

using Inode = std::pair<dev_t, ino_t>;
struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// Returns the folders from `root` down to root + prefix.
std::vector<Inode> ancestors(const std::string& root, const std::string& prefix) {
  std::vector<Inode> found;
  size_t end = 0;
  while (true) {
    struct ::stat info;
    const std::string path = root + prefix.substr(0, end);
    // A relative path lies below the current folder; an absolute one may not.
    const bool above = !path.empty() || !prefix.starts_with('/');
    if (above && ::stat(path.empty() ? "." : path.c_str(), &info) == 0) found.emplace_back(info.st_dev, info.st_ino);
    if (end >= prefix.size()) return found;
    const size_t slash = prefix.find('/', end);
    end = slash == std::string::npos ? prefix.size() : slash + 1;
  }
}

void add_entry(int dir, const char* name, const ListRequest& request, const std::vector<Inode>& above, ListPage& page) {
  struct ::stat info;
  // d_type does not suffice: it does not say where a link leads, has no sizes, and is unknown on
  // some file systems.
  std::string key = request.prefix + name;
  if (::fstatat(dir, name, &info, 0) != 0) {
    const int error = errno;
    struct ::stat link;
    const bool there = ::fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno == ENOENT) return;  // deleted since the folder was read
    const bool dead = there && S_ISLNK(link.st_mode) && (error == ENOENT || error == ENOTDIR || error == ELOOP);
    page.objects.push_back({std::move(key), 0, 0, dead});  // reading it reports the error
    return;
  }
  if (S_ISREG(info.st_mode)) {
    page.objects.push_back({std::move(key), static_cast<uint64_t>(info.st_size), version_of_file(info)});
  } else if (!S_ISDIR(info.st_mode)) {
    page.objects.push_back({std::move(key), 0});  // reading it reports what it is
  } else if (std::ranges::find(above, Inode(info.st_dev, info.st_ino)) == above.end()) {
    page.prefixes.push_back(std::move(key) + '/');
  } else {
    page.circular.push_back(std::move(key));
  }
}

}  // namespace

Result<ListPage> list_folder(const std::string& root, const ListRequest& request, std::stop_token stop) {
  const std::string path = root + request.prefix;
  const int fd = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOTDIR) return not_found("no such folder (there is a file of this name)");
  if (fd < 0) return status_of_errno(errno);
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd));
  if (!dir) {
    ::close(fd);
    return status_of_errno(ENOMEM);
  }
  if (!request.continuation.empty()) {
    long position = 0;
    const char* const end = request.continuation.data() + request.continuation.size();
    if (std::from_chars(request.continuation.data(), end, position).ptr != end) {
      return invalid_argument("a continuation that no page gave");
    }
    // The position comes from another stream on the same folder. On Linux it is the file system's
    // cookie, which does not belong to the descriptor.
    ::seekdir(dir.get(), position);
  }
  // Checked for each page rather than for each walk: no state is retained between calls, which may
  // come from any thread and in any order.
  const std::vector<Inode> above = ancestors(root, request.prefix);
  const size_t max_keys = std::max<size_t>(request.max_keys, 1);
  ListPage page;
  while (!stop.stop_requested()) {
    if (page.objects.size() + page.prefixes.size() >= max_keys) {
      page.continuation = std::to_string(::telldir(dir.get()));
      return page;
    }
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return status_of_errno(errno);
    if (entry == nullptr) return page;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (name.starts_with('.'))
      ++page.hidden;
    else
      add_entry(::dirfd(dir.get()), entry->d_name, request, above, page);
  }
  return cancelled("stopped while listing");
}

}  // namespace forebay
