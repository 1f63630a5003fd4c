#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "store/store.h"

namespace forebay {

struct LocalOptions {
  /// Maximum number of threads for reads that wait for the device. They start when needed.
  size_t io_threads = 16;
  /// Limit of idle memory that is retained for later reads.
  uint64_t idle_buffer_bytes = 32 << 20;
};

/// Files below the folder `root`; keys are paths relative to it. With an empty `root` keys are
/// paths as a user types them: absolute, or relative to the directory that was current when the
/// store was made.
///
/// read_now() copies files out of the page cache on the calling thread and never waits for a
/// device. read(), list() and stat() use the store's own threads. Only regular files are read
/// (symbolic links are followed). A file whose size differs from the listing is Corrupt. A missing
/// permission is InvalidArgument: the data is not bad, and a retry would not help. No descriptor
/// outlives its call.
std::shared_ptr<Store> local_store(std::string root, LocalOptions options = {});

}  // namespace forebay
