#include "cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "cli/verbs.h"

namespace forebay {
namespace {

constexpr long kGraceNs = 900'000'000;

// State of the signal handlers, which use only async-signal-safe calls.
std::atomic<int> wake_fd = -1;
std::atomic<bool> seen = false;
timer_t grace_timer;

void on_interrupt(int) {
  // The interrupted code may be about to read errno.
  const int saved_errno = errno;
  // exit() would wait for the threads and locks that may be why the user presses again.
  if (seen.exchange(true)) _exit(kInterrupted);
  itimerspec grace{};
  grace.it_value.tv_nsec = kGraceNs;
  // The timer ends the process if nothing reacts to the token in time.
  timer_settime(grace_timer, 0, &grace, nullptr);
  const char byte = 'i';
  [[maybe_unused]] const ssize_t written = write(wake_fd, &byte, 1);
  errno = saved_errno;
}

void on_grace_over(int) { _exit(kInterrupted); }

}  // namespace

struct Interrupt::Watch {
  std::stop_source stop;
  int pipe_fds[2] = {-1, -1};
  bool installed = false;
  struct sigaction old_interrupt{}, old_alarm{};
  std::thread thread;

  void wait() {
    char byte = 0;
    while (read(pipe_fds[0], &byte, 1) < 0 && errno == EINTR) {
    }
    // On this thread, because the callbacks take locks, which a signal handler must not do.
    if (byte == 'i') stop.request_stop();
  }

  void install() {
    sigaction(SIGINT, nullptr, &old_interrupt);
    // If the parent process ignores SIGINT (nohup, a shell's &), it stays ignored.
    if (old_interrupt.sa_handler == SIG_IGN || pipe2(pipe_fds, O_CLOEXEC) != 0) return;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    if (timer_create(CLOCK_MONOTONIC, &event, &grace_timer) != 0) return;
    // Set before the handlers that use them are installed.
    wake_fd = pipe_fds[1];
    seen = false;
    struct sigaction action{};
    // System calls are restarted. The token ends waits; no code has to expect EINTR.
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_grace_over;
    sigaction(SIGALRM, &action, &old_alarm);
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
    thread = std::thread([this] { wait(); });
    installed = true;
  }

  void uninstall() {
    if (installed) {
      // The order is the reverse of install(), so that no handler runs after its state is gone.
      sigaction(SIGINT, &old_interrupt, nullptr);
      timer_delete(grace_timer);
      sigaction(SIGALRM, &old_alarm, nullptr);
      const char byte = 'q';
      [[maybe_unused]] const ssize_t written = write(pipe_fds[1], &byte, 1);
      thread.join();
    }
    for (int fd : pipe_fds) {
      if (fd >= 0) close(fd);
    }
  }
};

Interrupt::Interrupt() : watch_(std::make_unique<Watch>()) { watch_->install(); }
Interrupt::~Interrupt() { watch_->uninstall(); }
std::stop_token Interrupt::token() const { return watch_->stop.get_token(); }

}  // namespace forebay
