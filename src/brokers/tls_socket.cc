#include "brokers/tls_socket.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "brokers/tls_refusal.h"

namespace forebay {

namespace {

constexpr int kMaxAtOnce = 1 << 30;

int descriptor_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int send_for_tls(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  // OpenSSL's own function would raise SIGPIPE in programs that do not expect it.
  const ssize_t sent = ::send(descriptor_of(bio), bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_for_tls(BIO* bio, char* into, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(descriptor_of(bio), into, static_cast<size_t>(count), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

BIO* new_socket_bio(int descriptor) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "forebay socket");
    BIO_meth_set_write(made, send_for_tls);
    BIO_meth_set_read(made, receive_for_tls);
    // OpenSSL flushes after each part of a handshake, and treats 0 as a failure.
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  BIO* const bio = BIO_new(method);
  // The socket owns the descriptor; freeing the BIO does not close it.
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  BIO_set_init(bio, 1);
  return bio;
}

/// Converts the error that OpenSSL's call has left.
Status status_of_tls(bool with_certificate) {
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_REASON(error);
  const char* const words = ERR_reason_error_string(error);
  ERR_clear_error();
  if (reason >= SSL_AD_REASON_OFFSET) {
    if (auto refusal = alert_refusal(reason - SSL_AD_REASON_OFFSET, with_certificate))
      return invalid_argument(*std::move(refusal));
  }
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
    return invalid_argument("the server speaks no TLS at this port; give the port at which it does");
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return unavailable("the server has closed the connection");
  return unavailable(fmt::format("TLS: {}", words == nullptr ? "broken" : words));
}

/// Sets the name that the certificate must be for, and that is sent to the server.
bool set_expected_name(SSL* tls, const std::string& name) {
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(tls);
  // Names and addresses are compared with different entries of a certificate (RFC 2818, section
  // 3.1).
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1)
    return true;  // an IP address, which is not sent to the server
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) == 1 &&
         SSL_set_tlsext_host_name(tls, name.c_str()) == 1;
}

}  // namespace

Result<TlsSocket> TlsSocket::connect(const HostPort& host, const TlsOptions& options, Deadline deadline,
                                     const std::stop_token& stop) {
  // Made for each connection, so that renewed files take effect.
  FOREBAY_ASSIGN(const TlsContext context, make_tls_context(options));
  FOREBAY_ASSIGN(TcpSocket socket, TcpSocket::connect(host, deadline, stop));
  const std::string& name = options.server_name.empty() ? host.host : options.server_name;
  std::unique_ptr<SSL, FreeTls> tls(SSL_new(context.get()));
  BIO* const bio = new_socket_bio(socket.descriptor());
  if (!tls || bio == nullptr) return unavailable("there is no memory for TLS");
  SSL_set_bio(tls.get(), bio, bio);
  if (!set_expected_name(tls.get(), name)) return invalid_argument(fmt::format("'{}' is no name of a server", name));
  TlsSocket made(std::move(socket), std::move(tls), !options.certificate_file.empty());
  FOREBAY_RETURN_IF_ERROR(made.shake_hands(name, deadline, stop));
  return made;
}

Status TlsSocket::shake_hands(const std::string& name, Deadline deadline, const std::stop_token& stop) {
  while (true) {
    // SSL_get_error() inspects this thread's error queue, in which earlier calls may have left
    // errors.
    ERR_clear_error();
    errno = 0;
    const int result = SSL_connect(tls_.get());
    if (result == 1) return {};
    const Status status = wait_for_more(result, deadline, stop);
    if (status.ok()) continue;
    // The verification result says more than the handshake's error, a mere "certificate verify
    // failed".
    const long verified = SSL_get_verify_result(tls_.get());
    if (verified != X509_V_OK && status.code() != Code::kCancelled)
      return invalid_argument(certificate_refusal(static_cast<int>(verified), name));
    if (status.code() != Code::kUnavailable) return status;
    return unavailable(fmt::format("{}, in the handshake of TLS (does it speak TLS at this port?)", status.message()));
  }
}

Status TlsSocket::wait_for_more(int result, Deadline deadline, const std::stop_token& stop) {
  const int system_error = errno;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ: return socket_.wait_readable(deadline, stop);
    case SSL_ERROR_WANT_WRITE: return socket_.wait_writable(deadline, stop);
    case SSL_ERROR_ZERO_RETURN: return unavailable("the server has closed the connection");
    case SSL_ERROR_SYSCALL:
      return unavailable(system_error == 0 ? "the server has closed the connection" : std::strerror(system_error));
    default: return status_of_tls(with_certificate_);
  }
}

// A server that requires a certificate says so after the handshake (TLS 1.3) and closes: sending
// may fail before its alert was read.
Status TlsSocket::last_words(Status otherwise) {
  uint8_t byte = 0;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_peek(tls_.get(), &byte, 1);
  if (result > 0 || SSL_get_error(tls_.get(), result) != SSL_ERROR_SSL) return otherwise;
  Status said = status_of_tls(with_certificate_);
  return said.code() == Code::kInvalidArgument ? std::move(said) : std::move(otherwise);
}

Status TlsSocket::send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop) {
  while (!bytes.empty()) {
    ERR_clear_error();
    errno = 0;
    const int sent = SSL_write(tls_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), kMaxAtOnce)));
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    Status status = wait_for_more(sent, deadline, stop);
    if (status.code() == Code::kUnavailable) return last_words(std::move(status));
    FOREBAY_RETURN_IF_ERROR(status);
  }
  return {};
}

Result<size_t> TlsSocket::receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) return cancelled("stopped while waiting for the server");
    ERR_clear_error();
    errno = 0;
    const int got = SSL_read(tls_.get(), into.data(), static_cast<int>(std::min<size_t>(into.size(), kMaxAtOnce)));
    if (got > 0) return static_cast<size_t>(got);
    FOREBAY_RETURN_IF_ERROR(wait_for_more(got, deadline, stop));
  }
}

}  // namespace forebay
