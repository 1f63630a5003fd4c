#pragma once

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace forebay {

/// Accepts TLS on a loopback port with the certificate CERTIFICATE.pem and forwards to another
/// port: a TLS server in front of one without. In replies, the other port's number after
/// "127.0.0.1" (Kafka's addresses for its clients) is replaced by its own.
class TlsProxy {
 public:
  struct Files {
    std::string certificate, key;
    /// Must have signed the clients' certificates; empty: they need none.
    std::string client_authority = {};
  };

  TlsProxy(const Files& files, uint16_t target) : target_(target), context_(SSL_CTX_new(TLS_server_method())) {
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_, files.certificate.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM), 1);
    if (!files.client_authority.empty()) {
      EXPECT_EQ(SSL_CTX_load_verify_locations(context_, files.client_authority.c_str(), nullptr), 1);
      SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    start();
  }
  ~TlsProxy() {
    stop();
    SSL_CTX_free(context_);
  }
  TlsProxy(const TlsProxy&) = delete;
  TlsProxy& operator=(const TlsProxy&) = delete;

  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int64_t accepted() const { return accepted_; }
  /// Closes the port and all connections; start() listens at the same port again.
  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
    if (listening_ >= 0) ::close(listening_);
    listening_ = -1;
  }
  void start() {
    stopped_ = false;
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in here = loopback(port_);
    ASSERT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&here), sizeof here), 0) << std::strerror(errno);
    ASSERT_EQ(::listen(listening_, 16), 0);
    socklen_t length = sizeof here;
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&here), &length);
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static bool readable(int fd) {
    pollfd wanted{fd, POLLIN, 0};
    return ::poll(&wanted, 1, 5) > 0;
  }
  void accept_all() {
    sigset_t broken_pipes;  // OpenSSL's sockets raise them if a client has gone
    sigemptyset(&broken_pipes);
    sigaddset(&broken_pipes, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipes, nullptr);
    std::vector<std::thread> connections;
    while (!stopped_) {
      if (!readable(listening_)) continue;
      const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      ++accepted_;
      connections.emplace_back([this, client] {
        serve(client);
        ::close(client);
      });
    }
    for (std::thread& connection : connections) connection.join();
  }
  void serve(int client) {
    const timeval patience{10, 0};  // a client that stops in the middle does not block the test
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL* const tls = SSL_new(context_);
    SSL_set_fd(tls, client);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in there = loopback(target_);
    if (SSL_accept(tls) == 1 && ::connect(server, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0)
      pass_on(tls, client, server);
    ::close(server);
    SSL_free(tls);
  }
  void pass_on(SSL* tls, int client, int server) const {
    std::array<char, 64 << 10> bytes;
    while (!stopped_) {
      if (SSL_pending(tls) > 0 || readable(client)) {
        const int got = SSL_read(tls, bytes.data(), bytes.size());
        if (got <= 0 || ::send(server, bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL) != got) return;
      }
      if (readable(server)) {
        const ssize_t got = ::recv(server, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        point_here(bytes.data(), static_cast<size_t>(got));
        if (SSL_write(tls, bytes.data(), static_cast<int>(got)) != got) return;
      }
    }
  }
  void point_here(char* bytes, size_t size) const {
    std::string before = "127.0.0.1";
    const auto as_kafka = [](uint16_t port) {
      return std::string{'\0', '\0', static_cast<char>(port >> 8), static_cast<char>(port & 0xff)};
    };
    const std::string theirs = before + as_kafka(target_), ours = before + as_kafka(port_);
    const std::string_view all(bytes, size);
    for (size_t at = all.find(theirs); at != std::string_view::npos; at = all.find(theirs, at + 1))
      std::memcpy(bytes + at, ours.data(), ours.size());
  }

  const uint16_t target_;
  SSL_CTX* const context_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> accepted_ = 0;
  uint16_t port_ = 0;
  int listening_ = -1;
  std::thread thread_;
};

}  // namespace forebay
