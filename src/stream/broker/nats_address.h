#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"
#include "stream/broker/tls_context.h"

namespace forebay {

/// Which stream of which servers:
/// "nats://[user:password@|token@]host[:port][,host[:port]]/STREAM[/SUBJECT]", or "tls://…".
struct NatsAddress {
  std::vector<HostPort> servers;
  std::string user, password;  ///< without a password `user` is a token
  bool secure = false;         ///< never without TLS
  TlsOptions tls;
  std::string credentials_file;      ///< of a user: a token that is signed, and the seed that answers for it
  std::string nkey, nkey_seed_file;  ///< a public key, and the file with its seed
  std::string stream;
  std::string subject;  ///< only messages of these subjects, which may have wildcards; empty: all
  /// "nats://host:port/STREAM/SUBJECT", without who asks.
  std::string name;

  /// `options`: as broker_options.h has them, and server_name, token, credentials_file, nkey,
  /// nkey_seed_file.
  static Result<NatsAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
