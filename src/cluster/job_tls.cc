#include "cluster/job_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forebay {

namespace {

constexpr const char* kCertificateFile = "FOREBAY_CLUSTER_CERTIFICATE_FILE";
constexpr const char* kKeyFile = "FOREBAY_CLUSTER_KEY_FILE";
constexpr const char* kAuthoritiesFile = "FOREBAY_CLUSTER_CA_FILE";

struct FreeTlsObject {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Pem = std::unique_ptr<BIO, FreeTlsObject>;
using Certificate = std::unique_ptr<X509, FreeTlsObject>;

Result<std::string> text_of_pem_file(const char* variable, const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, FreeTlsObject> file(std::fopen(path.c_str(), "re"));
  std::string text;
  std::array<char, 4096> part;
  for (size_t got = 1; file && got > 0;) {
    got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), got);
  }
  if (file && std::ferror(file.get()) == 0) return text;
  return invalid_argument(fmt::format("{}: '{}' cannot be read: {}", variable, path, std::strerror(errno)));
}

Pem pem_in(const std::string& text) { return Pem(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

/// Returns the reason of OpenSSL's first error.
std::string first_tls_error() {
  const char* const words = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return words == nullptr ? "no PEM" : words;
}

/// Returns all certificates of a text; none if one of them is malformed.
std::vector<Certificate> certificates_in(const std::string& text) {
  std::vector<Certificate> found;
  const Pem pem = pem_in(text);
  while (X509* const next = PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)) found.emplace_back(next);
  // After the last certificate the reader fails with "no start line", which is not an error.
  const unsigned long error = ERR_peek_last_error();
  if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) found.clear();
  if (!found.empty()) ERR_clear_error();
  return found;
}

Status no_certificates(const char* variable, const std::string& path) {
  return invalid_argument(fmt::format("{}: '{}' has no certificate in PEM ({})", variable, path, first_tls_error()));
}

Status use_authorities(SSL_CTX* context, const std::string& text, const std::string& path) {
  const std::vector<Certificate> found = certificates_in(text);
  if (found.empty()) return no_certificates(kAuthoritiesFile, path);
  for (const Certificate& each : found) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get()) != 1) return unavailable(first_tls_error());
  }
  return {};
}

Status use_certificate(SSL_CTX* context, const std::string& text, const std::string& path) {
  const std::vector<Certificate> chain = certificates_in(text);
  if (chain.empty()) return no_certificates(kCertificateFile, path);
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) return no_certificates(kCertificateFile, path);
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) return no_certificates(kCertificateFile, path);
  }
  return {};
}

Status use_key(SSL_CTX* context, const std::string& text, const JobTlsFiles& files) {
  bool password_requested = false;  // without a callback OpenSSL would ask at the terminal
  const auto no_password = [](char*, int, int, void* requested) {
    *static_cast<bool*>(requested) = true;
    return -1;
  };
  const std::unique_ptr<EVP_PKEY, FreeTlsObject> key(
      PEM_read_bio_PrivateKey(pem_in(text).get(), nullptr, no_password, &password_requested));
  if (password_requested) {
    ERR_clear_error();
    return invalid_argument(
        fmt::format("{}: '{}' has a password; give a key without one, which only you may read (openssl pkey -in …)",
                    kKeyFile, files.key));
  }
  if (key && SSL_CTX_use_PrivateKey(context, key.get()) == 1) return {};
  return invalid_argument(fmt::format("{}: '{}' is no key in PEM of the certificate '{}' ({})", kKeyFile, files.key,
                                      files.certificate, first_tls_error()));
}

void set_up_serving(SSL_CTX* context) {
  // Both sides run this program, so no older version is needed.
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // The peer has the certificates that are not in the certificate's file: without this, the
  // authority would be sent each time.
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  // A resumed session would not be verified. Connections are reused, so few are opened.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
}

}  // namespace

Result<std::shared_ptr<const JobTls>> read_job_tls(const JobTlsFiles& files) {
  std::vector<const char*> missing;
  if (files.certificate.empty()) missing.push_back(kCertificateFile);
  if (files.key.empty()) missing.push_back(kKeyFile);
  if (files.authorities.empty()) missing.push_back(kAuthoritiesFile);
  if (!missing.empty())
    return invalid_argument(fmt::format("TLS between hosts takes {}, {} and {} together; not set: {}", kCertificateFile,
                                        kKeyFile, kAuthoritiesFile, fmt::join(missing, ", ")));
  auto client_tls = std::make_shared<MutualTls>();
  FOREBAY_ASSIGN(client_tls->certificate, text_of_pem_file(kCertificateFile, files.certificate));
  FOREBAY_ASSIGN(client_tls->key, text_of_pem_file(kKeyFile, files.key));
  FOREBAY_ASSIGN(client_tls->authorities, text_of_pem_file(kAuthoritiesFile, files.authorities));
  ERR_clear_error();
  const std::shared_ptr<SSL_CTX> server_tls(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!server_tls) return unavailable(first_tls_error());
  set_up_serving(server_tls.get());
  FOREBAY_RETURN_IF_ERROR(use_authorities(server_tls.get(), client_tls->authorities, files.authorities));
  FOREBAY_RETURN_IF_ERROR(use_certificate(server_tls.get(), client_tls->certificate, files.certificate));
  FOREBAY_RETURN_IF_ERROR(use_key(server_tls.get(), client_tls->key, files));
  return std::make_shared<const JobTls>(JobTls{std::move(client_tls), server_tls});
}

Result<std::shared_ptr<const JobTls>> job_tls_from_environment() {
  const auto value_of = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const JobTlsFiles files{value_of(kCertificateFile), value_of(kKeyFile), value_of(kAuthoritiesFile)};
  if (files.certificate.empty() && files.key.empty() && files.authorities.empty())
    return std::shared_ptr<const JobTls>();
  return read_job_tls(files);
}

NoTls why_no_tls(const ssl_st* tls, unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  const char* const words = ERR_reason_error_string(error);
  const long verified = SSL_get_verify_result(tls);
  if (reason == SSL_R_HTTP_REQUEST) return {NoTls::kPlain, ", which asks without TLS"};
  if (verified != X509_V_OK)
    return {NoTls::kItsCertificate,
            fmt::format(", whose certificate is not taken: {}", X509_verify_cert_error_string(verified))};
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return {NoTls::kItsCertificate, ", which shows no certificate"};
  const std::string said = words == nullptr ? "no reason is known" : words;
  if (reason >= SSL_AD_REASON_OFFSET)
    return {NoTls::kOurCertificate, fmt::format(", which does not take this host: {}", said)};
  return {NoTls::kOther, fmt::format(" without TLS: {}", said)};
}

}  // namespace forebay
