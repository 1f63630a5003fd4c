#include "serve/client/start_server.h"

#include <fcntl.h>
#include <sched.h>
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

#include "serve/socket_place.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kLockWithin{30};
constexpr int kListeningAt = 3;

/// Variables that belong to one rank or trainer and not to a server for all of them.
constexpr std::string_view kNotPassedOn[] = {"RANK=", "WORLD_SIZE=", "LOCAL_", "GROUP_", "ROLE_",      "SLURM_",
                                             "OMPI_", "PMI_",        "PMIX_",  "OMP_",   "LD_PRELOAD="};

std::vector<std::string> environment_of_server() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    bool passed_on = true;
    for (const std::string_view start : kNotPassedOn) passed_on = passed_on && !text.starts_with(start);
    if (passed_on) kept.emplace_back(text);
  }
  return kept;
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
  std::string file;
  std::vector<char*> arguments, environment;
  int listening = -1, log = -1, nothing = -1, failed = -1;
};

void keep_only(int from, int to) {
  if (from != to) dup2(from, to);
}

// Runs in the grandchild and makes only async-signal-safe calls.
[[noreturn]] void become(const Launch& launch) {
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
  // The server works for the whole host. The kernel leaves out cores that the process may not use.
  sched_setaffinity(0, sizeof all, &all);
  // Moves all descriptors up first, because each may have a number that another one is to get.
  const int listening = fcntl(launch.listening, F_DUPFD, 10), failed = fcntl(launch.failed, F_DUPFD_CLOEXEC, 10);
  const int log = fcntl(launch.log, F_DUPFD, 10), nothing = fcntl(launch.nothing, F_DUPFD, 10);
  keep_only(nothing, 0);
  keep_only(nothing, 1);
  keep_only(log, 2);
  keep_only(listening, kListeningAt);
  keep_only(failed, kListeningAt + 1);
  fcntl(kListeningAt + 1, F_SETFD, FD_CLOEXEC);
  // Closes the client's files, sockets and devices, since the server outlives the client.
  close_range(kListeningAt + 2, ~0U, 0);
  (void)!chdir("/");
  execve(launch.file.c_str(), launch.arguments.data(), launch.environment.data());
  const int error = errno;
  (void)!write(kListeningAt + 1, &error, sizeof error);
  _exit(127);
}

Status wait_until_begun(pid_t child, int failed, const std::string& file) {
  // The child only forks again and exits.
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = 0;
  ssize_t got;
  do {
    got = read(failed, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return {};  // closed by the exec
  return unavailable(fmt::format("the program that serves cannot be started: {}", std::strerror(error))).with_key(file);
}

Status start(const std::string& path, std::vector<std::string> program) {
  if (program.empty()) program = {"forebay"};
  Launch launch;
  launch.file = on_path(program.front());
  if (launch.file.empty())
    return unavailable(
        fmt::format("share=\"auto\" starts the program '{}', which is not on PATH; install it there, or "
                    "start a server by hand: forebay serve",
                    program.front()));
  for (const char* const more : {"serve", "--listen-at", "3", "--linger", "10", "--socket"}) program.emplace_back(more);
  program.push_back(path);
  std::vector<std::string> environment = environment_of_server();
  launch.arguments = pointers(program);
  launch.environment = pointers(environment);
  FOREBAY_ASSIGN(const FileDescriptor listening, listen_at(path));
  const FileDescriptor log(open((path + ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const FileDescriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!log.valid() || !nothing.valid() || pipe2(ends, O_CLOEXEC) != 0)
    return unavailable(fmt::format("a server cannot be started: {}", std::strerror(errno))).with_key(path);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  launch.listening = listening.get();
  launch.log = log.get();
  launch.nothing = nothing.get();
  launch.failed = write_end.get();
  const pid_t child = fork();
  if (child < 0) return unavailable(fmt::format("a server cannot be started: {}", std::strerror(errno)));
  if (child == 0) {  // the grandchild is not a child of this process, so it leaves no zombie here
    if (fork() == 0) become(launch);
    _exit(0);
  }
  write_end = FileDescriptor();
  return wait_until_begun(child, read_end.get(), launch.file);
}

// Waits for the lock. Processes hold it only while they start or end a server.
Result<FileDescriptor> take_lock(const std::string& path, const std::stop_token& stop) {
  const auto deadline = std::chrono::steady_clock::now() + kLockWithin;
  while (std::chrono::steady_clock::now() < deadline) {
    if (stop.stop_requested()) return cancelled("opening was stopped");
    if (std::optional<FileDescriptor> lock = lock_socket(path, false)) return std::move(*lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return unavailable("another process has been starting a server for half a minute; end it").with_key(path + ".lock");
}

}  // namespace

Result<FileDescriptor> connect_or_start(const std::string& path, const std::vector<std::string>& program, bool starts,
                                        const std::stop_token& stop) {
  Result<FileDescriptor> connected = connect_to(path);
  if (connected.ok() || !starts || connected.status().code() != Code::kNotFound) return connected;
  FOREBAY_ASSIGN(const FileDescriptor lock, take_lock(path, stop));
  // The previous holder of the lock may have started a server.
  connected = connect_to(path);
  if (connected.ok() || connected.status().code() != Code::kNotFound) return connected;
  FOREBAY_RETURN_IF_ERROR(start(path, program));
  return connect_to(path);
}

}  // namespace forebay
