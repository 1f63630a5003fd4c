#include "base/read_all.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace forebay {

namespace {
constexpr size_t kMaxAtOnce = size_t{1} << 30;
}  // namespace

bool read_all(int fd, void* data, size_t size, uint64_t offset) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::pread(fd, at, std::min(size, kMaxAtOnce), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* data, size_t size, uint64_t offset) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t put = ::pwrite(fd, at, std::min(size, kMaxAtOnce), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // pwrite(2) that writes nothing sets no errno; a full disk is what is left to say.
    if (put == 0) errno = ENOSPC;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<size_t>(put);
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

}  // namespace forebay
