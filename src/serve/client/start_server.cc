#include "serve/client/start_server.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "serve/socket_path.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kLockWithin{30};
constexpr int kListeningAt = 3;

/// Variables that belong to one rank or trainer and not to a server for all of them: names, and the
/// beginnings that MPI has for itself. Others, such as SLURM_TMPDIR, are for all processes of a job.
constexpr std::string_view kNotInherited[] = {"RANK=",
                                              "WORLD_SIZE=",
                                              "LOCAL_RANK=",
                                              "LOCAL_WORLD_SIZE=",
                                              "GROUP_RANK=",
                                              "GROUP_WORLD_SIZE=",
                                              "ROLE_RANK=",
                                              "ROLE_WORLD_SIZE=",
                                              "ROLE_NAME=",
                                              "SLURM_PROCID=",
                                              "SLURM_LOCALID=",
                                              "SLURM_GTIDS=",
                                              "SLURM_TASK_PID=",
                                              "OMPI_",
                                              "PMI_",
                                              "PMIX_",
                                              "LD_PRELOAD="};

std::vector<std::string> environment_of_server() {
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool belongs_to_client =
        std::ranges::any_of(kNotInherited, [&](std::string_view start) { return text.starts_with(start); });
    if (!belongs_to_client) inherited.emplace_back(text);
  }
  return inherited;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Returns the path of a program, looked up on PATH if it has no folder; empty if it is not found.
std::string on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* const path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const size_t end = std::min(left.find(':'), left.size());
    std::string file = std::string(left.substr(0, end)) + "/" + program;
    if (end > 0 && access(file.c_str(), X_OK) == 0) return file;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return "";
}

/// Everything that the new process needs. It is prepared before the fork, because no memory may be
/// allocated between fork and exec.
struct Launch {
  std::vector<std::string> program, variables;
  std::string file;
  std::vector<char*> arguments, environment;  ///< pointers to `program` and `variables`
  FileDescriptor listening, log, null_device, error_pipe;
};

void move_descriptor(int from, int to) {
  if (from != to) dup2(from, to);
}

// Undoes what the client has set for itself: the server is a process for the whole host.
void reset_process() {
  // Leaves the terminal's process group, since Ctrl-C is meant for the trainer.
  setsid();
  // Signals that the client ignores or blocks, such as SIGPIPE in Python, must not affect the
  // server.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  // The kernel leaves out cores that the process may not use.
  sched_setaffinity(0, sizeof all, &all);
}

// Runs in the grandchild and makes only async-signal-safe calls.
// C libraries before glibc 2.34 lack the function, and kernels before 5.9 the call.
void close_descriptors_from(unsigned int first) {
  if (syscall(__NR_close_range, first, ~0U, 0) == 0) return;
  const long end = sysconf(_SC_OPEN_MAX);
  for (int i = static_cast<int>(first); i < end; ++i) close(i);
}

[[noreturn]] void exec_server(const Launch& launch) {
  reset_process();
  // Moves all descriptors up first, because each may have a number that another one is to get.
  const int listening = fcntl(launch.listening.get(), F_DUPFD, 10);
  const int error_pipe = fcntl(launch.error_pipe.get(), F_DUPFD_CLOEXEC, 10);
  const int log = fcntl(launch.log.get(), F_DUPFD, 10), null_device = fcntl(launch.null_device.get(), F_DUPFD, 10);
  move_descriptor(null_device, 0);
  move_descriptor(null_device, 1);
  move_descriptor(log, 2);
  move_descriptor(listening, kListeningAt);
  move_descriptor(error_pipe, kListeningAt + 1);
  fcntl(kListeningAt + 1, F_SETFD, FD_CLOEXEC);
  // Closes the client's files, sockets and devices, since the server outlives the client.
  close_descriptors_from(kListeningAt + 2);
  (void)!chdir("/");
  execve(launch.file.c_str(), launch.arguments.data(), launch.environment.data());
  const int error = errno;
  // Before the client learns of the error, or its next attempt could connect to this process.
  close(kListeningAt);
  (void)!write(kListeningAt + 1, &error, sizeof error);
  _exit(127);
}

// Runs in the child. The server is a child of this child, so that it leaves no zombie in the
// client.
[[noreturn]] void fork_server(const Launch& launch) {
  const pid_t server = fork();
  if (server == 0) exec_server(launch);
  const int error = errno;
  if (server < 0) (void)!write(launch.error_pipe.get(), &error, sizeof error);
  _exit(0);
}

// Waits until exec has closed the pipe, or an error has come through it.
Status wait_until_begun(pid_t child, int error_pipe, const std::string& file) {
  // The child only forks again and exits.
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = 0;
  ssize_t got;
  do {
    got = read(error_pipe, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return {};
  return unavailable(fmt::format("the program that serves cannot be started: {}", std::strerror(error))).with_key(file);
}

Status set_command(const std::string& path, std::vector<std::string> program, Launch& launch) {
  if (program.empty()) program = {"forebay"};
  launch.file = on_path(program.front());
  if (launch.file.empty())
    return unavailable(
        fmt::format("share=\"auto\" starts the program '{}', which is not on PATH; install it there, or "
                    "start a server by hand: forebay serve",
                    program.front()));
  for (const char* const more : {"serve", "--listen-at", "3", "--linger", "10", "--socket"}) program.emplace_back(more);
  program.push_back(path);
  launch.program = std::move(program);
  launch.variables = environment_of_server();
  launch.arguments = pointers(launch.program);
  launch.environment = pointers(launch.variables);
  return {};
}

Status start(const std::string& path, std::vector<std::string> program) {
  Launch launch;
  FOREBAY_RETURN_IF_ERROR(set_command(path, std::move(program), launch));
  FOREBAY_ASSIGN(launch.listening, listen_at(path));
  launch.log =
      FileDescriptor(open((path + ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  launch.null_device = FileDescriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!launch.log.valid() || !launch.null_device.valid() || pipe2(ends, O_CLOEXEC) != 0)
    return unavailable(fmt::format("a server cannot be started: {}", std::strerror(errno))).with_key(path);
  const FileDescriptor read_end(ends[0]);
  launch.error_pipe = FileDescriptor(ends[1]);
  const pid_t child = fork();
  if (child < 0) return unavailable(fmt::format("a server cannot be started: {}", std::strerror(errno)));
  if (child == 0) fork_server(launch);
  launch.error_pipe = FileDescriptor();
  return wait_until_begun(child, read_end.get(), launch.file);
}

// Waits for the lock. Processes hold it only while they start or end a server.
Result<FileDescriptor> take_lock(const std::string& path, const std::stop_token& stop, WaitClock& clock) {
  const auto deadline = clock.now() + kLockWithin;
  while (clock.now() < deadline) {
    if (stop.stop_requested()) return cancelled("opening was stopped");
    FOREBAY_ASSIGN(std::optional<FileDescriptor> lock, lock_socket(path, LockMode::kTry));
    if (lock) return std::move(*lock);
    std::this_thread::sleep_for(clock.begin_wait(std::chrono::milliseconds(5)));
  }
  return unavailable("another process has been starting a server for half a minute; end it").with_key(path + ".lock");
}

}  // namespace

Result<FileDescriptor> connect_or_start(const std::string& path, const std::vector<std::string>& program, bool starts,
                                        const std::stop_token& stop, WaitClock& clock) {
  Result<FileDescriptor> connected = connect_to(path);
  if (connected.ok() || !starts || connected.status().code() != Code::kNotFound) return connected;
  FOREBAY_ASSIGN(const FileDescriptor lock, take_lock(path, stop, clock));
  // The previous holder of the lock may have started a server.
  connected = connect_to(path);
  if (connected.ok() || connected.status().code() != Code::kNotFound) return connected;
  FOREBAY_RETURN_IF_ERROR(start(path, program));
  return connect_to(path);
}

}  // namespace forebay
