#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"

namespace forebay {

/// "scheme://[user:password@]host[:port][,host[:port]]/a/b", its parts with percent signs undone.
struct BrokerUrl {
  std::string scheme;
  std::string user, password;  ///< empty where there are none
  std::vector<HostPort> hosts;
  std::vector<std::string> path;  ///< "a", "b"

  /// "scheme://host:port,host:port/a/b", without who asks: for messages and identities.
  std::string without_credentials() const;
};

/// InvalidArgument for what is none; no message has what stands before an '@'.
Result<BrokerUrl> parse_broker_url(std::string_view url, uint16_t default_port);

/// A server's words, with `secret` blotted out wherever it stands in them.
inline std::string without_secret(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  // On behind the asterisks: a secret of asterisks would be found for ever.
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
    text.replace(at, secret.size(), "***");
  return text;
}

}  // namespace forebay
