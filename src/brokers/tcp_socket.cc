#include "brokers/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "stream/detached_call.h"

namespace forebay {

namespace {

using SocketClock = std::chrono::steady_clock;

// A stop does not wake poll(). Readers must end within 100 ms of a stop (decision 41).
constexpr std::chrono::milliseconds kLookForStops{25};

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

Status stopped_waiting() { return cancelled("stopped while waiting for the server"); }

/// Waits for `events` on the socket.
Status wait_for(int fd, short events, TcpSocket::Deadline deadline, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) return stopped_waiting();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now());
    if (left.count() <= 0) return unavailable("the server does not answer");
    pollfd wanted{fd, events, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min(left, kLookForStops).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return unavailable(std::strerror(errno));
  }
}

int look_up_now(const std::string& host, const std::string& port, int flags, std::vector<SocketAddress>& found) {
  addrinfo wanted{}, *addresses = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &addresses);
  if (error != 0) return error;
  for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
    SocketAddress address;
    address.length = std::min<socklen_t>(each->ai_addrlen, sizeof address.bytes);
    std::memcpy(&address.bytes, each->ai_addr, address.length);
    found.push_back(address);
  }
  ::freeaddrinfo(addresses);
  return 0;
}

/// Resolves on another thread, because the resolver cannot be interrupted.
Result<std::vector<SocketAddress>> look_up(const HostPort& host, TcpSocket::Deadline deadline,
                                           const std::stop_token& stop) {
  std::vector<SocketAddress> found;
  const std::string port = fmt::format("{}", host.port);
  if (look_up_now(host.host, port, AI_NUMERICHOST | AI_NUMERICSERV, found) == 0) return found;
  const auto work = [name = host.host, port]() -> Result<std::vector<SocketAddress>> {
    std::vector<SocketAddress> addresses;
    const int error = look_up_now(name, port, AI_NUMERICSERV, addresses);
    if (error != 0) return unavailable(fmt::format("'{}': {}", name, ::gai_strerror(error)));
    return addresses;
  };
  return run_detached<std::vector<SocketAddress>>(work, deadline, stop, "the host's name is looked up");
}

void set_option(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); }

Result<FileDescriptor> connect_to(const SocketAddress& address, TcpSocket::Deadline deadline,
                                  const std::stop_token& stop) {
  FileDescriptor fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return unavailable(std::strerror(errno));
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.length) == 0) return fd;
  if (errno != EINPROGRESS) return unavailable(std::strerror(errno));
  FOREBAY_RETURN_IF_ERROR(wait_for(fd.get(), POLLOUT, deadline, stop));
  // A failed connection is writable, too; its error is found here.
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return unavailable(std::strerror(error));
  return fd;
}

}  // namespace

Result<TcpSocket> TcpSocket::connect(const HostPort& host, Deadline deadline, const std::stop_token& stop) {
  FOREBAY_ASSIGN(const std::vector<SocketAddress> addresses, look_up(host, deadline, stop));
  Status last = unavailable("the name has no address");
  for (const SocketAddress& address : addresses) {
    auto fd = connect_to(address, deadline, stop);
    if (fd.ok()) return TcpSocket(std::move(fd).value());
    last = fd.status();
    if (last.code() == Code::kCancelled) break;
  }
  return last;
}

Status TcpSocket::send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      FOREBAY_RETURN_IF_ERROR(wait_writable(deadline, stop));
    } else if (errno != EINTR) {
      return unavailable(std::strerror(errno));
    }
  }
  return {};
}

Result<size_t> TcpSocket::receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) return stopped_waiting();
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) return unavailable("the server has closed the connection");
    if (errno == EAGAIN) {
      FOREBAY_RETURN_IF_ERROR(wait_readable(deadline, stop));
    } else if (errno != EINTR) {
      return unavailable(std::strerror(errno));
    }
  }
}

Status TcpSocket::wait_readable(Deadline deadline, const std::stop_token& stop) const {
  return wait_for(socket_.get(), POLLIN, deadline, stop);
}

Status TcpSocket::wait_writable(Deadline deadline, const std::stop_token& stop) const {
  return wait_for(socket_.get(), POLLOUT, deadline, stop);
}

}  // namespace forebay
