#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "stream/broker/tls_context.h"
#include "stream/broker_url.h"

namespace forebay {

/// Storage options of a broker: credentials and connection settings. They appear in no identity,
/// state or message, except for names of files.
struct BrokerOptions {
  std::string user, password;              ///< from the URL or the options
  TlsOptions tls;                          ///< with the system's authorities where no ca_file is given
  bool any_tls = false;                    ///< whether one of `tls` is given
  std::map<std::string, std::string> own;  ///< options that only this kind of broker has
  /// The value of an option of `own`; empty if it is not given.
  std::string own_text(const std::string& name) const;
};

/// Parses and checks the options, and reads the files that they name. `own`: names that this kind
/// of broker has in addition to user, password, ca_file, certificate_file and key_file.
/// InvalidArgument for unknown names (the message has the nearest known one), for values that the
/// URL gives already, and for unusable files.
Result<BrokerOptions> parse_broker_options(const std::map<std::string, std::string>& options, const BrokerUrl& url,
                                           std::span<const std::string_view> own);

}  // namespace forebay
