#pragma once

#include <memory>
#include <string>

#include "forebay/result.h"
#include "store/http/http_transport.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace forebay {

/// TLS credentials of a job. Every connection between its hosts is verified in both directions
/// before any other byte is sent: each host presents a certificate that an authority of the job has
/// signed. Hosts are known by address, so names in certificates are not compared. A host that has
/// such a certificate and the job's token belongs to the job.
struct JobTls {
  /// Used by clients.
  std::shared_ptr<const MutualTls> client_tls;
  /// Used by servers: TLS 1.3. Every connection is verified, without session resumption.
  std::shared_ptr<ssl_ctx_st> server_tls;
};

/// Contents of the credential files, as PEM.
struct JobTlsFiles {
  std::string certificate;  ///< this host's, followed by intermediate certificates
  std::string key;          ///< the certificate's key, without a password
  std::string authorities;
};

/// Reads the files once. InvalidArgument lists the files that are missing or unusable, and why.
Result<std::shared_ptr<const JobTls>> read_job_tls(const JobTlsFiles& files);

/// Reads the files named by FOREBAY_CLUSTER_CERTIFICATE_FILE, FOREBAY_CLUSTER_KEY_FILE and
/// FOREBAY_CLUSTER_CA_FILE. Null if none of them is set.
Result<std::shared_ptr<const JobTls>> job_tls_from_environment();

/// Reason why a connection from another host has no TLS.
struct NoTls {
  enum Kind { kPlain, kItsCertificate, kOurCertificate, kOther, kKinds } kind;
  std::string words;  ///< follows "a host", such as ", whose certificate is not taken: …"
};
/// Finds the reason. `error` is the error code that OpenSSL's handshake left.
NoTls why_no_tls(const ssl_st* tls, unsigned long error);

}  // namespace forebay
