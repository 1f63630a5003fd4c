#include "serve/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

Status folder_error(const char* what, const std::string& folder) {
  return unavailable(fmt::format("{}: {}", what, std::strerror(errno))).with_key(folder);
}

}  // namespace

std::string runtime_folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && access(runtime, W_OK | X_OK) == 0)
    return std::string(runtime) + "/forebay";
  return fmt::format("/tmp/forebay-{}", getuid());
}

// Checks the owner: in /tmp another user could have created the folder before.
Status make_private_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return folder_error("this folder cannot be made", folder);
  struct stat info{};
  if (lstat(folder.c_str(), &info) != 0) return folder_error("this folder cannot be looked at", folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0)
    return unavailable(
               "processes of yours meet in a folder of yours that nobody else can enter, and this is none: remove it, "
               "or set XDG_RUNTIME_DIR")
        .with_key(folder);
  return {};
}

}  // namespace forebay
