#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// An absolute http(s) URL taken apart. Nothing is decoded.
struct HttpUrl {
  std::string scheme;     ///< "http" or "https"
  std::string user_info;  ///< what stood before '@': a secret
  std::string authority;  ///< host and port as written
  std::string target;     ///< path and query, begins with '/'

  std::string text() const { return scheme + "://" + authority + target; }  ///< without the user info
  std::string origin() const { return scheme + "://" + authority; }
};

/// A URL as a person types it: odd characters (spaces, umlauts) are percent-encoded, what is encoded already stays, a
/// fragment goes. InvalidArgument where it is no http(s) URL.
Result<HttpUrl> parse_http_url(std::string_view url);

/// What a Location header means at `base`.
Result<HttpUrl> resolve_location(const HttpUrl& base, std::string_view location);

/// The URL as messages may show it: without user info, and with "?..." in place of its query.
std::string url_for_messages(std::string_view url);

/// "host:port" of a URL, for messages.
std::string host_and_port(std::string_view url);

}  // namespace forebay
