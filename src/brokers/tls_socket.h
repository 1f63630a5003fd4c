#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <stop_token>

#include "brokers/tcp_socket.h"
#include "stream/broker/tls_context.h"

namespace forebay {

/// A TcpSocket with TLS, to a server whose certificate and name were verified. Its waits end as
/// those of TcpSocket.
class TlsSocket {
 public:
  using Deadline = TcpSocket::Deadline;

  /// Unavailable if the server cannot be reached now; InvalidArgument, with a remedy, if its
  /// certificate is refused or it refuses this client.
  static Result<TlsSocket> connect(const HostPort& host, const TlsOptions& options, Deadline deadline,
                                   const std::stop_token& stop);

  /// Send and receive as TcpSocket does, but return InvalidArgument if the server refuses the
  /// certificate after the handshake.
  Status send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop);
  Result<size_t> receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop);

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  TlsSocket(TcpSocket socket, std::unique_ptr<SSL, FreeTls> tls, bool with_certificate)
      : socket_(std::move(socket)), tls_(std::move(tls)), with_certificate_(with_certificate) {}
  Status shake_hands(const std::string& name, Deadline deadline, const std::stop_token& stop);
  /// Waits after a call that could not finish. OK once it can be tried again.
  Status wait_for_more(int result, Deadline deadline, const std::stop_token& stop);
  /// Returns the alert that the server sent before closing, if it is a refusal; otherwise
  /// `otherwise`.
  Status last_words(Status otherwise);

  TcpSocket socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
  bool with_certificate_;
};

}  // namespace forebay
