#include "cluster/card_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace forebay {

Status card_file_failure(const std::string& path, const char* what) {
  return unavailable(fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

Result<std::optional<CardFile>> read_card_file(const std::string& path, uid_t owner) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? Result<std::optional<CardFile>>(std::nullopt) : card_file_failure(path, "read");
  // A card of another user in a shared folder could make this rank take data from a foreign host.
  struct ::stat info{};
  if (::fstat(fd, &info) != 0) {
    const Status failure = card_file_failure(path, "read");
    ::close(fd);
    return failure;
  }
  if (info.st_uid != owner) {
    ::close(fd);
    return invalid_argument(
        fmt::format("{} belongs to another user: give a folder that only your job writes to", path));
  }
  std::string text(kMaxCardBytes + 1, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  const Status failure = got < 0 ? card_file_failure(path, "read") : Status();
  ::close(fd);
  if (!failure.ok()) return failure;
  text.resize(static_cast<size_t>(got));
  return std::optional(CardFile{std::move(text), info.st_mtim});
}

Status write_card_file(const std::string& path, const std::string& text) {
  // Hosts that share the folder may have the same pid but never the same rank, which is part of
  // `path`.
  const std::string beside = fmt::format("{}.{}.tmp", path, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return card_file_failure(beside, "write");
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const Status failure = written ? Status() : card_file_failure(beside, "write");
  ::close(fd);
  if (failure.ok() && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  const Status renamed = failure.ok() ? card_file_failure(path, "write") : failure;
  ::unlink(beside.c_str());
  return renamed;
}

}  // namespace forebay
