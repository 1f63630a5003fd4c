#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// How a server is verified, and the certificate of this client. All files are PEM.
struct TlsOptions {
  /// Authorities that may sign the server's certificate. Empty: those of the system.
  std::string ca_file;
  /// This client's certificate, followed by its intermediate certificates. Empty: none.
  std::string certificate_file;
  std::string key_file;  ///< key of the certificate, without a password
  /// The name that the server's certificate must have. Empty: that of the host to connect to.
  std::string server_name;
};

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

/// Makes a context for connections that verify the server's certificate. Reads the files.
/// InvalidArgument for an unusable file, with its name and the reason.
Result<TlsContext> make_tls_context(const TlsOptions& options);

/// Returns the error of make_tls_context().
Status check_tls_options(const TlsOptions& options);

}  // namespace forebay
