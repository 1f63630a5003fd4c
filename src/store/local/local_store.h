#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "store/store.h"

namespace forebay {

struct LocalOptions {
  /// Threads for reads that have to wait for the device, started when needed.
  size_t io_threads = 16;
  /// Memory kept for the next reads while nobody uses it.
  uint64_t idle_buffer_bytes = 32 << 20;
};

/// Files below the folder `root`; keys are paths relative to it. With an empty `root` keys are paths as one types them:
/// absolute, or relative to what was the current directory when the store was made.
///
/// read_now() takes files out of the page cache on the calling thread and never waits for a device. read(), list()
/// and stat() work on the store's own threads. Only regular files are read (symbolic links are followed); a file
/// whose size is not the one of the listing is Corrupt. A missing permission is InvalidArgument: neither the data is
/// bad nor would another try help. No descriptor outlives its call.
std::shared_ptr<Store> local_store(std::string root, LocalOptions options = {});

}  // namespace forebay
