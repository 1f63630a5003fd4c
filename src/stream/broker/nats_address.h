#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"
#include "stream/broker/tls_context.h"

namespace forebay {

/// The address of a stream:
/// "nats://[user:password@|token@]host[:port][,host[:port]]/STREAM[/SUBJECT]", or "tls://…".
struct NatsAddress {
  std::vector<HostPort> servers;
  std::string user, password;  ///< without a password `user` is a token
  bool secure = false;         ///< only connections with TLS are allowed
  TlsOptions tls;
  std::string credentials_file;      ///< a user's signed token and the seed that proves it
  std::string nkey, nkey_seed_file;  ///< a public key, and the file with its seed
  std::string stream;
  std::string subject;  ///< subjects of the messages to read, may have wildcards; empty: all
  /// "nats://host:port/STREAM/SUBJECT", without credentials.
  std::string name;

  /// `options`: those of broker_options.h, server_name, token, credentials_file, nkey and
  /// nkey_seed_file.
  static Result<NatsAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
