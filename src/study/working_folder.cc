#include "study/working_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/folder_entries.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScratchName = "forebay-scratch-";

int open_folder(const fs::path& path) { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

bool lock_folder(int fd, int how) {
  int locked = -1;
  do {
    locked = ::flock(fd, how);
  } while (locked != 0 && errno == EINTR);
  return locked == 0;
}

// Deletes folders of dead processes. A process holds the lock of its folder as long as it lives.
void sweep_scratch(const fs::path& below) {
  for (const fs::path& entry : entries_of(below)) {
    if (!entry.filename().string().starts_with(kScratchName)) continue;
    const int fd = open_folder(entry);
    if (fd < 0) continue;
    struct stat info{};
    std::error_code ignored;
    if (::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() && lock_folder(fd, LOCK_EX | LOCK_NB))
      fs::remove_all(entry, ignored);
    ::close(fd);
  }
}

}  // namespace

Result<WorkingFolder> WorkingFolder::make() {
  std::error_code failed;
  const fs::path below = fs::temp_directory_path(failed);
  if (!failed) sweep_scratch(below);
  for (;;) {
    std::string path = (below / (std::string(kScratchName) + "XXXXXX")).string();
    const bool made = !failed && ::mkdtemp(path.data()) != nullptr;
    const int lock = made ? open_folder(path) : -1;
    if (!made || (lock < 0 && errno != ENOENT)) {
      if (made) ::rmdir(path.c_str());
      return Status(Code::kUnavailable, "no temporary folder can be made; set TMPDIR to where one can").with_key(path);
    }
    // On a file system without locks, other processes cannot lock and delete the folder either.
    if (lock >= 0) (void)lock_folder(lock, LOCK_EX);
    WorkingFolder folder(path, lock);
    // Another process may have deleted the folder before it was locked; then makes another.
    if (lock >= 0 && fs::exists(path, failed)) return folder;
  }
}

WorkingFolder::~WorkingFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace forebay
