#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "stream/broker/tls_context.h"
#include "stream/broker_url.h"

namespace forebay {

/// Storage options of a broker: how it is asked, and by whom. None of this is in identities, states
/// or messages, but for names of files.
struct BrokerOptions {
  std::string user, password;  ///< those of the URL, too
  TlsOptions tls;
  bool any_tls = false;                    ///< whether one of them is about TLS
  std::map<std::string, std::string> own;  ///< what one kind of broker has alone
  /// An own option; empty where it is not given.
  std::string own_text(const std::string& name) const;
};

/// `own`: the names that this kind of broker has beside user, password, ca_file, certificate_file
/// and key_file. InvalidArgument for other names, with the nearest one; for what the URL says
/// already; and for files that are of no use, which it reads.
Result<BrokerOptions> parse_broker_options(const std::map<std::string, std::string>& options, const BrokerUrl& url,
                                           std::span<const std::string_view> own);

}  // namespace forebay
