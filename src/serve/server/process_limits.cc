#include "serve/server/process_limits.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace forebay {

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void restrict_to_cores(int max_cores) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (int core = 0, taken = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && ++taken > max_cores) CPU_CLR(core, &cores);
  }
  sched_setaffinity(0, sizeof cores, &cores);
}

FileDescriptor watch_process(pid_t process) {
  return FileDescriptor(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
}

}  // namespace forebay
