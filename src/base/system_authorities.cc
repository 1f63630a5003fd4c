#include "base/system_authorities.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace forebay {

namespace {

constexpr std::array kFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, Red Hat and its kin
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer ones of these
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // Alpine without the package, and others
};

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string system_authorities() {
  if (is_set("SSL_CERT_FILE") || is_set("SSL_CERT_DIR")) return "";
  for (const char* const file : kFiles) {
    if (::access(file, R_OK) == 0) return file;
  }
  return "";
}

}  // namespace forebay
