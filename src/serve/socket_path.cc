#include "serve/socket_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "serve/runtime_folder.h"

namespace forebay {

namespace {

constexpr std::string_view kEnding = ".sock";
constexpr int kBacklog = 128;
constexpr int kConnectSeconds = 3;

Status errno_status(const char* what, const std::string& path) {
  return unavailable(fmt::format("{}: {}", what, std::strerror(errno))).with_key(path);
}

bool is_name(std::string_view name) {
  return name.size() <= 64 && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* as_sockaddr(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

Result<std::string> socket_path(std::string_view name) {
  std::string path(name);
  if (name.find('/') == std::string_view::npos) {
    if (name.empty()) name = "auto";
    if (!is_name(name))
      return invalid_argument(
          fmt::format("'{}' is no name of a server: letters, digits, '-', '_' and '.', 64 at most; or "
                      "the path of a socket",
                      name));
    const std::string folder = runtime_folder();
    FOREBAY_RETURN_IF_ERROR(make_private_folder(folder));
    path = fmt::format("{}/{}{}", folder, name, kEnding);
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return invalid_argument(
        fmt::format("'{}' is too long for a socket: {} bytes are the most", path, sizeof(sockaddr_un::sun_path) - 1));
  return path;
}

std::string serve_command(const std::string& path, std::string_view verb) {
  std::string_view name = path;
  const std::string folder = runtime_folder() + "/";
  // A socket in a subfolder has no name and is given by its path.
  if (name.starts_with(folder) && name.ends_with(kEnding) && name.find('/', folder.size()) == name.npos)
    name = name.substr(folder.size(), name.size() - folder.size() - kEnding.size());
  return fmt::format("forebay serve{}{}{}", verb.empty() ? "" : " ", verb,
                     name == "auto" ? "" : fmt::format(" --socket {}", name));
}

Result<std::optional<FileDescriptor>> lock_socket(const std::string& path, LockMode mode) {
  const std::string lock = path + ".lock";
  FileDescriptor file(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return errno_status("the lock beside this socket cannot be taken", lock);
  while (flock(file.get(), LOCK_EX | (mode == LockMode::kWait ? 0 : LOCK_NB)) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<FileDescriptor>();
    if (errno != EINTR) return errno_status("the lock beside this socket cannot be taken", lock);
  }
  return std::optional<FileDescriptor>(std::move(file));
}

Result<FileDescriptor> listen_at(const std::string& path) {
  FileDescriptor created(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!created.valid()) return errno_status("no socket can be made", path);
  // A killed server leaves its socket, and bind() fails if one exists. Any other file is the
  // user's.
  struct stat existing{};
  if (lstat(path.c_str(), &existing) == 0 && !S_ISSOCK(existing.st_mode))
    return invalid_argument("this is no socket of a server; give a path where nothing is").with_key(path);
  unlink(path.c_str());
  const sockaddr_un address = address_of(path);
  fchmod(created.get(), 0600);  // restricts connect() to this user, too: it needs write permission
  if (bind(created.get(), as_sockaddr(address), sizeof address) != 0)
    return errno_status("no server can listen here", path);
  if (listen(created.get(), kBacklog) != 0) return errno_status("no server can listen here", path);
  return created;
}

Result<FileDescriptor> connect_to(const std::string& path) {
  FileDescriptor created(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!created.valid()) return errno_status("no socket can be made", path);
  const sockaddr_un address = address_of(path);
  // The backlog of a suspended server fills up. connect() then waits as long as SO_SNDTIMEO allows.
  const timeval patience{kConnectSeconds, 0}, forever{0, 0};
  setsockopt(created.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(created.get(), as_sockaddr(address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED)
      return not_found(fmt::format("no server listens here; start one with: {}", serve_command(path))).with_key(path);
    if (errno == EAGAIN)
      return unavailable(fmt::format("the server has not let anybody in for {} s; is it stopped?", kConnectSeconds))
          .with_key(path);
    return errno_status("the server cannot be reached", path);
  }
  setsockopt(created.get(), SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
  // A path from the user may be in a folder where other users can create sockets.
  const std::optional<PeerProcess> peer = peer_process(created.get());
  if (!peer || peer->user != getuid()) return unavailable("the server here is another user's").with_key(path);
  return created;
}

std::optional<PeerProcess> peer_process(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return PeerProcess{peer.pid, peer.uid};
}

std::string peer_path(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return {address.sun_path, strnlen(address.sun_path, sizeof address.sun_path)};
}

}  // namespace forebay
