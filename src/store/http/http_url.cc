#include "store/http/http_url.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace forebay {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// Characters that are allowed unencoded in a path or query; '%' depends on what follows.
bool stands_as_it_is(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("-._~!$&'()*+,;=:@/?[]").find(c) != std::string_view::npos;
}

std::string encoded(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escape = c == '%' && i + 2 < text.size() && is_hex(text[i + 1]) && is_hex(text[i + 2]);
    if (escape || stands_as_it_is(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool host_is_possible(std::string_view authority) {
  return !authority.empty() && authority.front() != ':' && std::ranges::none_of(authority, [](unsigned char c) {
    return c <= ' ' || c == 0x7f ||
           std::string_view("\"<>\\^`{|}#").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Status no_url(std::string_view url, std::string_view why) {
  return invalid_argument(fmt::format("'{}' is no web address: {}", url_for_messages(url), why));
}

}  // namespace

Result<HttpUrl> parse_http_url(std::string_view url) {
  HttpUrl parts;
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos) return no_url(url, "it does not begin with http:// or https://");
  parts.scheme = lower(url.substr(0, colon));
  if (parts.scheme != "http" && parts.scheme != "https")
    return no_url(url, "it does not begin with http:// or https://");
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t slash = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, slash);
  // The last '@': passwords may contain an unencoded one, hosts never do.
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.user_info = authority.substr(0, at);
    authority = authority.substr(at + 1);
  }
  if (!host_is_possible(authority)) return no_url(url, "no host stands behind the two slashes");
  // Hosts are not case-sensitive (RFC 3986, section 3.2.2), and origins are compared as text.
  parts.authority = lower(authority);
  const std::string_view target = slash == std::string_view::npos ? std::string_view("/") : rest.substr(slash);
  parts.target = encoded(target);
  if (parts.target.front() == '?') parts.target.insert(0, 1, '/');
  return parts;
}

Result<HttpUrl> resolve_location(const HttpUrl& base, std::string_view location) {
  location = location.substr(0, location.find('#'));
  if (const size_t colon = location.find("://");
      colon != std::string_view::npos && colon < location.find_first_of("/?")) {
    return parse_http_url(location);
  }
  // RFC 3986, section 4.2: a reference without a scheme keeps that of the base.
  if (location.starts_with("//")) return parse_http_url(fmt::format("{}:{}", base.scheme, location));
  HttpUrl target = base;
  target.user_info.clear();
  const std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
  if (location.starts_with('/')) {
    target.target = encoded(location);
  } else if (location.starts_with('?') || location.empty()) {
    target.target = std::string(path) + encoded(location);
  } else {
    target.target = std::string(path.substr(0, path.rfind('/') + 1)) + encoded(location);
  }
  return target;
}

std::string url_for_messages(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const size_t query = url.find('?');
  std::string shown(url.substr(0, query));
  const size_t scheme = shown.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t at = shown.substr(0, shown.find('/', begin)).rfind('@');
  if (at != std::string::npos && at >= begin) shown.erase(begin, at + 1 - begin);
  if (query != std::string_view::npos) shown += "?...";
  return shown;
}

std::string host_and_port(std::string_view url) {
  const auto parts = parse_http_url(url);
  if (!parts.ok()) return url_for_messages(url);
  const std::string& authority = parts->authority;
  const size_t colon = authority.rfind(':');
  // A colon inside brackets belongs to an IPv6 address.
  const bool has_port = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  return has_port ? authority : authority + (parts->scheme == "https" ? ":443" : ":80");
}

}  // namespace forebay
