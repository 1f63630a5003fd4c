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

/// The address of one or more streams: "redis[s]://[user:password@]host[:port][/db]/STREAM". Braces
/// in STREAM name several streams.
struct RedisAddress {
  HostPort host;
  std::string user, password;
  std::optional<TlsOptions> tls;  ///< set for "rediss"
  int database = 0;
  std::vector<std::string> streams;
  /// "redis://host:port/0/STREAM", without credentials.
  std::string name;

  /// `options`: those of broker_options.h, and server_name.
  static Result<RedisAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
