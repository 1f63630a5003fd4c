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

/// What storage options say about HTTP, for every store that speaks it.
struct HttpOptions {
  std::shared_ptr<const HttpConnectionOptions> connection = std::make_shared<const HttpConnectionOptions>();
  std::vector<HttpHeader> headers;  ///< of header_<Name> options; perhaps secret
  CallerOptions caller;
};

/// timeout_s, connect_timeout_s, ca_file, verify, proxy, retries, and header_<Name>. InvalidArgument that lists everything that is wrong at once: values, and names that are neither these nor in `other_names`
/// (which are left to whoever knows them). Warns where `verify` is off.
Result<HttpOptions> parse_http_options(const std::map<std::string, std::string>& options,
                                       std::span<const std::string_view> other_names = {});

}  // namespace forebay
