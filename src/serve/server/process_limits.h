#pragma once

#include <sys/types.h>

#include "store/local/local_file.h"

namespace forebay {

/// Allows this process as many open descriptors as the system permits. Every large field of a batch
/// has a slab, and so a descriptor, of its own.
void raise_descriptor_limit();

/// Restricts this process to the first `max_cores` of its cores, so that code that counts cores
/// finds only these.
void restrict_to_cores(int max_cores);

/// Returns a descriptor (a pidfd) that poll() reports as readable once the process ends. It is
/// invalid if the process has ended already, `process` is not positive, or the kernel has no
/// pidfds.
FileDescriptor watch_process(pid_t process);

}  // namespace forebay
