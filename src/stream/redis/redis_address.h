#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/address.h"
#include "forebay/result.h"

namespace forebay {

/// Which streams of which server: "redis://[user:password@]host[:port][/db]/STREAM"; braces in STREAM name several.
struct RedisAddress {
  HostPort host;
  std::string user, password;
  int database = 0;
  std::vector<std::string> streams;
  /// "redis://host:port/0/STREAM", without who asks.
  std::string name;

  /// Unsupported for "rediss", whose TLS this build has not.
  static Result<RedisAddress> parse(std::string_view url);
};

}  // namespace forebay
