#include "store/http/http_status.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "store/http/http_date.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

Status server_trouble(int status) {
  switch (status) {
    case 408: return unavailable("the server waited too long for the request (408)");
    case 429: return unavailable("the server asks for fewer requests (429)");
    case 500: return unavailable("the server has an error of its own (500)");
    case 502: return unavailable("a proxy or gateway got no proper answer from the server behind it (502)");
    case 503: return unavailable("the server is overloaded or being serviced (503)");
    case 504: return unavailable("a proxy or gateway waited too long for the server behind it (504)");
    case 507: return unavailable("the server, or a proxy before it, has no space left (507)");
    default: return unavailable(fmt::format("the server has a problem (status {})", status));
  }
}

Status refused(const HttpResponse& response) {
  switch (response.status) {
    case 401:
      return invalid_argument(
          "a login is needed (401): give user:password@ in the address, or the header that the server wants "
          "(header_Authorization)");
    case 403:
      return invalid_argument(
          "access denied (403): the login, the token or the signature of the address does not allow to read this, or "
          "has expired");
    case 404: return not_found("no such object (404)");
    case 407:
      return invalid_argument("the proxy asks for a user and password (407): put them into the proxy's address");
    case 410: return not_found("no such object any more (410)");
    case 412: return corrupt("changed while it was read (412)");
    case 414: return not_found("no such object: the address is longer than the server allows (414)");
    case 416: return corrupt("shorter than expected: the range that was asked for lies behind its end (416)");
    default: return invalid_argument(fmt::format("the server refuses the request (status {})", response.status));
  }
}

}  // namespace

Status judge_http_status(const HttpResponse& response) {
  const int status = response.status;
  if (status / 100 == 2) return {};
  // 501 and 505 mean that the server will never do it.
  if (status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505))
    return server_trouble(status);
  if (status / 100 == 3) {
    return invalid_argument(
        fmt::format("the server sends elsewhere ({}), to '{}'", status, url_for_messages(response.header("location"))));
  }
  if (status < 400) return unavailable(fmt::format("expected an answer, found the status {}", status));
  return refused(response);
}

bool is_throttled(const HttpResponse& response) { return response.status == 429 || response.status == 503; }

std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response,
                                                     std::chrono::system_clock::time_point now) {
  const std::string_view text = response.header("retry-after");
  if (text.empty()) return std::nullopt;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) {
    // Bounded, so that no sum with a clock overflows; callers wait for far less.
    return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, 86'400));
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(*date - now), std::chrono::milliseconds(0));
}

}  // namespace forebay
