#include "cli/process_memory.h"

#include <sys/resource.h>

namespace forebay {

uint64_t peak_resident_bytes() {
  rusage usage{};
  // Linux counts in KiB here, and takes the number from the same place as VmHWM.
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace forebay
