#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "store/http/http_transport.h"
#include "store/http/retrying_caller.h"

namespace forebay {

/// The storage options about HTTP, which every store over HTTP shares.
struct HttpOptions {
  std::shared_ptr<const HttpConnectionOptions> connection = std::make_shared<const HttpConnectionOptions>();
  std::vector<HttpHeader> headers;  ///< from header_<Name> options; may be secret
  CallerOptions caller;
};

/// Parses timeout_s, connect_timeout_s, ca_file, verify, proxy, retries, and header_<Name>.
/// InvalidArgument lists all problems at once: wrong values, and names that are neither these nor
/// in `other_names`, which are left to the caller. Logs a warning if `verify` is off.
Result<HttpOptions> parse_http_options(const std::map<std::string, std::string>& options,
                                       std::span<const std::string_view> other_names = {});

}  // namespace forebay
