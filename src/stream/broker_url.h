#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"

namespace forebay {

/// The parts of "scheme://[user:password@]host[:port][,host[:port]]/a/b", percent-decoded.
struct BrokerUrl {
  std::string scheme;
  std::string user, password;  ///< empty if there are none
  std::vector<HostPort> hosts;
  std::vector<std::string> path;  ///< "a", "b"

  /// "scheme://host:port,host:port/a/b" for messages and identities, without user and password.
  std::string without_credentials() const;
};

/// InvalidArgument if the text is no such URL. Messages contain nothing that stands before an '@'.
Result<BrokerUrl> parse_broker_url(std::string_view url, uint16_t default_port);

/// A server's message in which each occurrence of `secret` is replaced by "***".
inline std::string without_secret(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  // The search goes on after the asterisks: a secret of asterisks would be found forever.
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
    text.replace(at, secret.size(), "***");
  return text;
}

}  // namespace forebay
