#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "store/calls.h"
#include "store/read_buffers.h"
#include "store/store.h"

namespace forebay {

/// Returns ObjectInfo::version of a file, from its times of change, inode and device.
uint64_t version_of_file(const struct ::stat& info);

/// Converts `errno` for the caller of a store: a code, and what to do.
Status status_of_errno(int error);

/// Opens a regular file for reading. Anything else is Unsupported, with what it is. Never waits for
/// the writer of a FIFO.
Result<FileDescriptor> open_regular(const std::string& path, uint64_t* size);

/// Reads the requested part of the file `path`. May wait for the device. Errors have no key; the
/// caller adds it. `calls` counts the opened file.
Result<Buffer> read_file(const std::string& path, const ReadRequest& request, ReadBuffers& buffers, CallTable& calls);

/// Reads files without ever waiting for a device: it answers only if path, size and bytes are in
/// the kernel's caches.
class CachedReader {
 public:
  /// Counts a read, and returns whether read() should be tried for it. False if the kernel is too
  /// old, and for a thousand reads after one from a file system that does not support such reads.
  bool begin_try();
  /// `calls` counts the opened files.
  std::optional<Result<Buffer>> read(const std::string& path, const ReadRequest& request, ReadBuffers& buffers,
                                     CallTable& calls);

 private:
  std::optional<FileDescriptor> open_cached(const std::string& path);

  std::atomic<bool> kernel_supports_it_{true};  ///< openat2 with RESOLVE_CACHED (Linux 5.12)
  /// Number of reads not to try, after a file system without RWF_NOWAIT.
  std::atomic<uint32_t> tries_to_skip_{0};
};

}  // namespace forebay
