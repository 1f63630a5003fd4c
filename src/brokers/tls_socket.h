#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <stop_token>

#include "brokers/tcp_socket.h"
#include "stream/broker/tls_context.h"

namespace forebay {

/// A TcpSocket over which TLS is spoken, with a server whose certificate and name were verified. Its waits end as those do.
class TlsSocket {
 public:
  using Deadline = TcpSocket::Deadline;

  /// Unavailable where the server cannot be had now; InvalidArgument, with the way out, where it is not whom it should be or does not take us.
  static Result<TlsSocket> connect(const HostPort& host, const TlsOptions& options, Deadline deadline,
                                   const std::stop_token& stop);

  /// As those of TcpSocket. InvalidArgument, too: a server may refuse a certificate after the handshake.
  Status send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop);
  Result<size_t> receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop);

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  TlsSocket(TcpSocket socket, std::unique_ptr<SSL, FreeTls> tls, bool with_certificate)
      : socket_(std::move(socket)), tls_(std::move(tls)), with_certificate_(with_certificate) {}
  Status shake_hands(const std::string& name, Deadline deadline, const std::stop_token& stop);
  /// After a call that has not done its work: OK once it can be tried again.
  Status wait_for_more(int result, Deadline deadline, const std::stop_token& stop);
  /// What the server said of why it went, if it did.
  Status last_words(Status otherwise);

  TcpSocket socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
  bool with_certificate_;
};

}  // namespace forebay
