#include "brokers/tls_refusal.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <charconv>

#include <fmt/format.h>

namespace forebay {

std::string certificate_refusal(int x509_error, std::string_view name) {
  const char* const words = X509_verify_cert_error_string(x509_error);
  switch (x509_error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format(
          "the server's certificate is not for '{}' ({}); name the server as its certificate does, or get one for this "
          "name",
          name, words);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format(
          "the server's certificate is out of date ({}); renew it, or set the clock of this host if it is wrong",
          words);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return fmt::format(
          "nobody whom this host trusts has signed the server's certificate ({}); give the authority that has: "
          "storage_options={{'ca_file': …}}",
          words);
    default: return fmt::format("the server's certificate is not taken: {}", words);
  }
}

std::optional<std::string> alert_refusal(int alert, bool with_certificate) {
  const char* const words = SSL_alert_desc_string_long(alert);
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:  // TLS 1.2 also reports a missing certificate so
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
      if (!with_certificate)
        return fmt::format(
            "the server wants a certificate of its clients ({}): storage_options={{'certificate_file': …, 'key_file': "
            "…}}",
            words);
      return fmt::format(
          "the server does not take the certificate in 'certificate_file' ({}); give one that an authority of the "
          "server's has signed",
          words);
    case SSL_AD_PROTOCOL_VERSION:
    case SSL_AD_INSUFFICIENT_SECURITY:
      return fmt::format("the server speaks no TLS that is safe ({}): 1.2 and 1.3 are", words);
    case SSL_AD_UNRECOGNIZED_NAME:
      return fmt::format("the server does not go by this name ({}); use the one in its certificate", words);
    default: return std::nullopt;
  }
}

std::optional<int> alert_in(std::string_view words) {
  constexpr std::string_view kBefore = "SSL alert number ";
  const size_t at = words.find(kBefore);
  // The form of OpenSSL's messages. Without a number it is not a refusal, and the caller tries
  // again.
  if (at == std::string_view::npos) return std::nullopt;
  words.remove_prefix(at + kBefore.size());
  int number = 0;
  if (std::from_chars(words.data(), words.data() + words.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace forebay
