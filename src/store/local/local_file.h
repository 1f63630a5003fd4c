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

/// ObjectInfo::version of a file: of its times of change, inode and device.
uint64_t version_of_file(const struct ::stat& info);

/// What `errno` means for the caller of a store: code and way out.
Status status_of_errno(int error);

/// Opens a regular file for reading; anything else is Unsupported and says what it is. Never waits for a FIFO's writer.
Result<FileDescriptor> open_regular(const std::string& path, uint64_t* size);

/// Reads the requested part of the file `path`; may wait for the device. Messages leave the key to the caller. `calls`: where it counts
/// that it opened the file.
Result<Buffer> read_file(const std::string& path, const ReadRequest& request, ReadBuffers& buffers, CallTable& calls);

/// The same without ever waiting for a device: an answer only where path, size and bytes are in the kernel's caches.
class CachedReader {
 public:
  /// False where a read is known to be in vain: an old kernel, or (for the next thousand reads) a file system without
  /// such reads.
  bool worth_trying();
  /// `calls`: where it counts the files that it opens.
  std::optional<Result<Buffer>> read(const std::string& path, const ReadRequest& request, ReadBuffers& buffers,
                                     CallTable& calls);

 private:
  std::optional<FileDescriptor> open_cached(const std::string& path);

  std::atomic<bool> kernel_can_{true};      ///< openat2 with RESOLVE_CACHED (Linux 5.12)
  std::atomic<uint32_t> tries_to_pass_{0};  ///< after a file system without RWF_NOWAIT: so many reads are not tried
};

}  // namespace forebay
