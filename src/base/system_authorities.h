#pragma once

#include <string>

namespace forebay {

/// File with the certificates of the authorities that this system trusts, in PEM, where its
/// distribution keeps it. OpenSSL's own default is right only on the distribution that it was
/// built for. Empty if there is no such file, or if SSL_CERT_FILE or SSL_CERT_DIR is set, which
/// OpenSSL reads by itself.
std::string system_authorities();

}  // namespace forebay
