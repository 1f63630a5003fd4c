#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// The parts of an absolute http(s) URL, without any decoding.
struct HttpUrl {
  std::string scheme;     ///< "http" or "https"
  std::string user_info;  ///< the part before '@'; secret
  std::string authority;  ///< host and port as written
  std::string target;     ///< path and query, begins with '/'

  /// Returns the URL without the user info.
  std::string text() const { return scheme + "://" + authority + target; }
  std::string origin() const { return scheme + "://" + authority; }
};

/// Parses a URL as a person types it: unusual characters (spaces, umlauts) are percent-encoded,
/// encoded ones stay, and a fragment is dropped. InvalidArgument if it is not an http(s) URL.
Result<HttpUrl> parse_http_url(std::string_view url);

/// Resolves a Location header relative to `base`.
Result<HttpUrl> resolve_location(const HttpUrl& base, std::string_view location);

/// Returns the URL for messages: without user info, and with "?..." in place of its query.
std::string url_for_messages(std::string_view url);

/// Returns "host:port" of a URL, for messages.
std::string host_and_port(std::string_view url);

}  // namespace forebay
