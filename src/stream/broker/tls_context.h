#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// Whom a server must be, and who says so; and who we are. Files are PEM.
struct TlsOptions {
  std::string ca_file;           ///< authorities that may sign the server's certificate; empty: those of the system
  std::string certificate_file;  ///< ours, with those between it and its authority; empty: none
  std::string key_file;          ///< its key, without a password
  std::string server_name;       ///< whom the server's certificate must be for; empty: the host that is connected to
};

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

/// For connections that trust nobody without a certificate. Reads the files now: InvalidArgument
/// names one that is of no use, and says why.
Result<TlsContext> make_tls_context(const TlsOptions& options);

}  // namespace forebay
