#pragma once

#include <memory>
#include <string>

#include "forebay/result.h"
#include "store/http/http_transport.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace forebay {

/// What hosts of a job show each other before a byte of theirs is sent, whoever asks whom: a certificate that an authority of the job has signed.
/// Hosts are addresses, so names in certificates are not compared: whoever has such a certificate is a host of the job, if it has the token, too.
struct JobTls {
  std::shared_ptr<const MutualTls> asking;
  std::shared_ptr<ssl_ctx_st> serving;  ///< TLS 1.3; every connection is verified anew
};

/// PEM.
struct JobTlsFiles {
  std::string certificate;  ///< this host's, with those between it and its authority
  std::string key;          ///< its key, without a password
  std::string authorities;
};

/// Reads them, once and for all. InvalidArgument names those that are missing, or are of no use and why.
Result<std::shared_ptr<const JobTls>> read_job_tls(const JobTlsFiles& files);

/// Of the files that FOREBAY_CLUSTER_CERTIFICATE_FILE, FOREBAY_CLUSTER_KEY_FILE and FOREBAY_CLUSTER_CA_FILE name; null where none of them is set.
Result<std::shared_ptr<const JobTls>> job_tls_from_environment();

/// Why there is no TLS with a host that asked for it.
struct NoTls {
  enum Kind { kPlain, kItsCertificate, kOurCertificate, kOther, kKinds } kind;
  std::string words;  ///< behind "a host", such as ", whose certificate is not taken: …"
};
/// `error`: what OpenSSL's handshake left.
NoTls why_no_tls(const ssl_st* tls, unsigned long error);

}  // namespace forebay
