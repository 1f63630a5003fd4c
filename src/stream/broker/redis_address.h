#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"
#include "stream/broker/tls_context.h"

namespace forebay {

/// Which streams of which server: "redis[s]://[user:password@]host[:port][/db]/STREAM"; braces in
/// STREAM name several.
struct RedisAddress {
  HostPort host;
  std::string user, password;
  std::optional<TlsOptions> tls;  ///< of "rediss"
  int database = 0;
  std::vector<std::string> streams;
  /// "redis://host:port/0/STREAM", without who asks.
  std::string name;

  /// `options`: as broker_options.h has them, and server_name.
  static Result<RedisAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
