#include "stream/broker/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

Status check_readable(const char* option, const std::string& path) {
  // OpenSSL's errors do not distinguish an unreadable file from a file that is not PEM.
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr)
    return invalid_argument(fmt::format("{}: '{}' cannot be read: {}", option, path, std::strerror(errno)));
  std::fclose(file);
  return {};
}

/// Returns OpenSSL's first error as text.
std::string tls_words() {
  const char* const words = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return words == nullptr ? "no PEM" : words;
}

Status load_authorities(SSL_CTX* context, const std::string& path) {
  if (path.empty()) return SSL_CTX_set_default_verify_paths(context) == 1 ? Status() : unavailable(tls_words());
  FOREBAY_RETURN_IF_ERROR(check_readable("ca_file", path));
  if (SSL_CTX_load_verify_locations(context, path.c_str(), nullptr) == 1) return {};
  return invalid_argument(fmt::format("ca_file: '{}' has no certificates in PEM ({})", path, tls_words()));
}

Status load_own(SSL_CTX* context, const TlsOptions& options) {
  const std::string &certificate = options.certificate_file, &key = options.key_file;
  FOREBAY_RETURN_IF_ERROR(check_readable("certificate_file", certificate));
  FOREBAY_RETURN_IF_ERROR(check_readable("key_file", key));
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return invalid_argument(
        fmt::format("certificate_file: '{}' has no certificate in PEM ({})", certificate, tls_words()));
  // Without a callback OpenSSL asks for a password at the terminal. The context outlives `asked`,
  // so the pointer to it is cleared below.
  bool asked = false;
  SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void* told) {
    *static_cast<bool*>(told) = true;
    return -1;
  });
  const bool loaded = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (asked)
    return invalid_argument(fmt::format(
        "key_file: '{}' has a password; give a key without one, which only you may read (openssl pkey -in …)", key));
  if (!loaded)
    return invalid_argument(
        fmt::format("key_file: '{}' is no key in PEM of the certificate '{}' ({})", key, certificate, tls_words()));
  return {};
}

}  // namespace

Result<TlsContext> make_tls_context(const TlsOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty())
    return invalid_argument("certificate_file and key_file belong together: give both or none");
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return unavailable(tls_words());
  // Older versions are not safe (RFC 8996).
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // SSL_write() may take only a part, as send() does; TlsSocket::send() continues after it.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  FOREBAY_RETURN_IF_ERROR(load_authorities(context.get(), options.ca_file));
  if (!options.certificate_file.empty()) FOREBAY_RETURN_IF_ERROR(load_own(context.get(), options));
  return context;
}

Status check_tls_options(const TlsOptions& options) { return make_tls_context(options).status(); }

}  // namespace forebay
