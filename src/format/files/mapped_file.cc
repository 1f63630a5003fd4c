#include "format/files/mapped_file.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"

namespace forebay {
namespace {

/// Where a thread continues after it touched a page that the file no longer has.
struct JumpTarget {
  sigjmp_buf where;
  const uint8_t* begin;
  const uint8_t* end;
};
// Volatile, because the handler reads it: the compiler must not move the access out of the guard.
thread_local JumpTarget* volatile t_jump_target = nullptr;

struct sigaction g_before;

void forward_signal(int signal, siginfo_t* info, void* context) {
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) return g_before.sa_handler(signal);
  struct sigaction by_default = {};
  // Restores the default action, so the process ends as it would without this handler, with a core
  // dump if enabled.
  ::sigaction(signal, &by_default, nullptr);
  ::raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  JumpTarget* const target = t_jump_target;
  const auto* at = static_cast<const uint8_t*>(info->si_addr);
  // Another handler that ran first may have raised the signal again, without an address.
  const bool raised = info->si_code <= 0;
  if (target != nullptr && (raised || (at >= target->begin && at < target->end))) ::siglongjmp(target->where, 1);
  forward_signal(signal, info, context);
}

// This handler must run first, but other code (Python's faulthandler) may have installed its own
// since.
void install_handler() {
  static Mutex mutex;
  const Lock lock(mutex);
  struct sigaction now = {};
  ::sigaction(SIGBUS, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) return;
  g_before = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_bus_error;
  // The handler is left by a jump, so the signal must not stay blocked.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigaction(SIGBUS, &ours, nullptr);
}

// The kernel calls no handler if the signal is blocked, as all signals are on the engine's threads.
void unblock_signal() {
  sigset_t bus_error;
  sigemptyset(&bus_error);
  sigaddset(&bus_error, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &bus_error, nullptr);
}

// A separate function, which holds nothing that a jump could leave half changed.
bool touch_guarded(JumpTarget& target, void (*touch)(void*), void* given) {
  // The signal mask is not saved, because that is a system call per row. SA_NODEFER leaves nothing
  // to restore.
  if (::sigsetjmp(target.where, 0) != 0) {
    t_jump_target = nullptr;
    return false;
  }
  t_jump_target = &target;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  touch(given);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_jump_target = nullptr;
  return true;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  uint64_t size = 0;
  auto file = open_regular(path, &size);
  if (!file.ok()) return file.status().with_key(path);
  if (size == 0) return corrupt("is empty").with_key(path);
  struct ::stat info;
  if (::fstat(file->get(), &info) != 0) return status_of_errno(errno).with_key(path);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file->get(), 0);
  if (memory == MAP_FAILED) return status_of_errno(errno).with_key(path);
  install_handler();
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, std::move(*file), static_cast<const uint8_t*>(memory), size, version_of_file(info)));
}

MappedFile::~MappedFile() { ::munmap(const_cast<uint8_t*>(data_), size_); }

Status MappedFile::read_with(void (*touch)(void*), void* given) const {
  // Once per thread: masks belong to a thread, and a system call per row would cost more than the
  // copy.
  static thread_local bool unblocked = false;
  if (!std::exchange(unblocked, true)) unblock_signal();
  JumpTarget target;
  target.begin = data_;
  target.end = data_ + size_;
  if (touch_guarded(target, touch, given)) return {};
  // Wrappers of handlers, such as ThreadSanitizer's, may block more signals than requested.
  unblock_signal();
  return truncated_error();
}

Status MappedFile::check_length() const {
  struct ::stat now;
  if (::fstat(file_.get(), &now) != 0) return status_of_errno(errno).with_key(path_);
  return static_cast<uint64_t>(now.st_size) >= size_ ? Status() : truncated_error();
}

Status MappedFile::truncated_error() const {
  return unavailable(
             fmt::format("the file became shorter than the {} bytes that it had when it was opened; put it back and "
                         "open the loader again, and replace files by renaming others to their names",
                         size_))
      .with_key(path_);
}

}  // namespace forebay
