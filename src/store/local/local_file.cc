#include "store/local/local_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/range.h"

namespace forebay {

namespace {

// O_NONBLOCK keeps a FIFO from blocking.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr uint32_t kReadsBetweenTries = 1024;
constexpr size_t kMaxReadBytes = size_t{1} << 30;  // the kernel's own limit is just below 2 GiB

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "no regular file";
  }
}

Result<uint64_t> regular_size(int fd) {
  struct ::stat info;
  if (::fstat(fd, &info) != 0) return status_of_errno(errno);
  if (!S_ISREG(info.st_mode)) return unsupported(fmt::format("is {}, not a file", kind_of(info.st_mode)));
  return static_cast<uint64_t>(info.st_size);
}

// Headers of an older system lack what the kernel may have: wheels are built against such headers.
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

int try_openat2(const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(__NR_openat2, AT_FDCWD, path, &how, sizeof how));
}

/// The file ended before the size that it had when it was opened.
Status shrank(int fd, const ReadRequest& request, uint64_t size_before) {
  const auto now = regular_size(fd);
  return size_changed(request.expected_size.value_or(size_before), now.ok() ? *now : 0);
}

}  // namespace

uint64_t version_of_file(const struct ::stat& info) {
  // The change time (ctime), which cannot be set, reveals a copy that keeps mtime and size.
  const int64_t parts[] = {info.st_mtim.tv_sec,
                           info.st_mtim.tv_nsec,
                           info.st_ctim.tv_sec,
                           info.st_ctim.tv_nsec,
                           static_cast<int64_t>(info.st_ino),
                           static_cast<int64_t>(info.st_dev)};
  return std::max<uint64_t>(hash128(parts, sizeof parts).low, 1);
}

Status status_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return not_found("no such file or folder");
    case ELOOP: return not_found("symbolic links that lead nowhere");
    case ENAMETOOLONG: return not_found("no such file: the name is longer than the file system allows");
    case EACCES:
    case EPERM:
      return invalid_argument(
          "permission denied; give the user who runs this the right to read it (and to enter its "
          "folders)");
    case EMFILE:
      return unavailable("too many open files in this process; raise the limit (ulimit -n) or lower `requests`");
    case ENFILE: return unavailable("too many open files on this machine; raise fs.file-max or close programs");
    case ENXIO: return unsupported("is a socket or a device, not a file");
    default: return unavailable(fmt::format("{} (errno {})", std::strerror(error), error));
  }
}

Result<FileDescriptor> open_regular(const std::string& path, uint64_t* size) {
  if (path.find('\0') != std::string::npos) return not_found("no such file: the name holds a zero byte");
  int fd;
  do {
    fd = ::open(path.c_str(), kOpenFlags);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return status_of_errno(errno);
  FileDescriptor file(fd);
  FOREBAY_ASSIGN(*size, regular_size(fd));
  return file;
}

namespace {
Result<Buffer> memory_for(const ReadRequest& request, uint64_t bytes, ReadBuffers& buffers) {
  if (request.into.size() >= bytes && bytes > 0) return request.into.slice(0, bytes);
  return buffers.acquire(bytes);
}
}  // namespace

Result<Buffer> read_file(const std::string& path, const ReadRequest& request, ReadBuffers& buffers, CallTable& calls) {
  uint64_t size = 0;
  FOREBAY_ASSIGN(const FileDescriptor file, open_regular(path, &size));
  calls.count_open();
  FOREBAY_ASSIGN(const ByteRange range, resolve_range(request, size));
  FOREBAY_ASSIGN(Buffer buffer, memory_for(request, range.length, buffers));
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::pread(file.get(), buffer.data() + done, std::min(buffer.size() - done, kMaxReadBytes),
                                static_cast<off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_of_errno(errno);
    if (got == 0) return shrank(file.get(), request, size);
    done += static_cast<size_t>(got);
  }
  return buffer;
}

bool CachedReader::begin_try() {
  if (!kernel_supports_it_.load(std::memory_order_relaxed)) return false;
  uint32_t left = tries_to_skip_.load(std::memory_order_relaxed);
  while (left > 0) {
    if (tries_to_skip_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return false;
  }
  return true;
}

/// Returns nothing if the file is not cached. If the descriptor is invalid, errno says why.
std::optional<FileDescriptor> CachedReader::open_cached(const std::string& path) {
  const int fd = try_openat2(path.c_str(), kOpenFlags);
  if (fd >= 0) return FileDescriptor(fd);
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  // Either the kernel is too old, or a sandbox forbids the call, or the error is about this file;
  // read() reports the latter.
  if (errno == ENOSYS || errno == EINVAL || errno == E2BIG || errno == EPERM) {
    // "/" is always in the kernel's caches: if it cannot be opened, the call itself fails.
    const FileDescriptor root(try_openat2("/", O_PATH | O_CLOEXEC));
    if (!root.valid()) kernel_supports_it_.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  return FileDescriptor();
}

std::optional<Result<Buffer>> CachedReader::read(const std::string& path, const ReadRequest& request,
                                                 ReadBuffers& buffers, CallTable& calls) {
  if (!kernel_supports_it_.load(std::memory_order_relaxed) || path.find('\0') != std::string::npos) return std::nullopt;
  const auto file = open_cached(path);
  if (!file) return std::nullopt;
  if (!file->valid()) return status_of_errno(errno);
  calls.count_open();
  const auto size = regular_size(file->get());
  if (!size.ok()) return size.status();
  const auto range = resolve_range(request, *size);
  if (!range.ok()) return range.status();
  auto buffer = memory_for(request, range->length, buffers);
  if (!buffer.ok()) return buffer.status();
  size_t done = 0;
  while (done < buffer->size()) {
    iovec part{buffer->data() + done, std::min(buffer->size() - done, kMaxReadBytes)};
    const ssize_t got = ::preadv2(file->get(), &part, 1, static_cast<off_t>(range->offset + done), RWF_NOWAIT);
    if (got == 0) return shrank(file->get(), request, *size);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP || errno == ENOSYS) {
        tries_to_skip_.store(kReadsBetweenTries, std::memory_order_relaxed);
      }
      // Not cached, or an error that read() will meet and report.
      return std::nullopt;
    }
    done += static_cast<size_t>(got);
  }
  return buffer;
}

}  // namespace forebay
