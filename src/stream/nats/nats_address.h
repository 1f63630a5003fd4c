#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Which stream of which servers: "nats://[user:password@|token@]host[:port][,host[:port]]/STREAM[/SUBJECT]".
struct NatsAddress {
  std::vector<std::string> servers;  ///< "nats://host:port"
  std::string user, password;        ///< without a password `user` is a token
  std::string stream;
  std::string subject;  ///< only messages of these subjects, which may have wildcards; empty: all
  /// "nats://host:port/STREAM/SUBJECT", without who asks.
  std::string name;

  static Result<NatsAddress> parse(std::string_view url);
};

}  // namespace forebay
