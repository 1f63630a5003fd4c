#include "store/http/curl_error.h"

#include <cerrno>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "store/http/http_url.h"

namespace forebay {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Status not_connected(CURL* easy, const std::string& where) {
  long error = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
  if (error == ECONNREFUSED)
    return unavailable(fmt::format("{} refuses the connection: no server runs there, or not yet", where));
  if (error == 0) return unavailable(fmt::format("no connection to {}", where));
  return unavailable(
      fmt::format("no connection to {}: {}", where, std::generic_category().message(static_cast<int>(error))));
}

Status certificate_refused(const std::string& where, std::string_view detail) {
  // Recognized by OpenSSL's words, because libcurl does not pass its codes on. Unknown words lead
  // to the general advice.
  std::string_view way_out = "name the authority that signed it with ca_file";
  if (contains(detail, "expired") || contains(detail, "not yet valid")) {
    way_out = "look at this machine's clock, or have the server's certificate renewed";
  } else if (contains(detail, "alternative") || contains(detail, "subject name") || contains(detail, "match")) {
    way_out = "use the host name that the certificate was made for";
  }
  return invalid_argument(fmt::format("the TLS certificate of {} is not trusted ({}); {}", where, detail, way_out));
}

Status no_tls(const std::string& where, std::string_view detail) {
  if (contains(detail, "wrong version number") || contains(detail, "packet length too long") ||
      contains(detail, "http request")) {
    return invalid_argument(
        fmt::format("{} does not speak TLS; if it is a plain HTTP server, write http:// instead of https://", where));
  }
  if (contains(detail, "alert") && (contains(detail, "certificate required") || contains(detail, "bad certificate"))) {
    return invalid_argument(fmt::format("{} asks for a client certificate, which is not supported", where));
  }
  return unavailable(fmt::format("no TLS connection to {} ({})", where, detail));
}

/// Returns nothing if the failure is not about certificates.
std::optional<Status> no_mutual_tls(CURLcode code, const std::string& where, std::string_view detail) {
  if (code == CURLE_PEER_FAILED_VERIFICATION)
    return invalid_argument(fmt::format("the TLS certificate of {} is not taken ({})", where, detail));
  // A TLS 1.3 server checks our certificate after the handshake, so its alert may come with the
  // answer.
  if (contains(detail, "alert") && (contains(detail, "certificate") || contains(detail, "unknown ca")))
    return invalid_argument(fmt::format("{} does not take the TLS certificate of this host ({})", where, detail));
  if (code == CURLE_SSL_CONNECT_ERROR && contains(detail, "wrong version number"))
    return invalid_argument(fmt::format("{} does not speak TLS, which it is asked over", where));
  return std::nullopt;
}

Status proxy_refused(CURL* easy, const std::string& where, std::string_view detail) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
  if (status == 407)
    return invalid_argument(fmt::format(
        "the proxy on the way to {} asks for a user and password: put them into the proxy's address", where));
  if (status == 403)
    return invalid_argument(fmt::format(
        "the proxy does not allow connections to {}; list the host in no_proxy if it can be reached without", where));
  if (status >= 400) return unavailable(fmt::format("the proxy could not connect to {} (status {})", where, status));
  return unavailable(fmt::format("the connection to {} broke off ({})", where, detail));
}

}  // namespace

Status curl_error(CURLcode code, CURL* easy, std::string_view url, std::string_view detail, bool mutual_tls) {
  const std::string where = host_and_port(url);
  if (detail.empty()) detail = curl_easy_strerror(code);
  if (mutual_tls) {
    if (std::optional<Status> refused = no_mutual_tls(code, where, detail)) return *std::move(refused);
  }
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return unavailable(fmt::format(
          "the host of {} cannot be found: its name is misspelt, or the name service does not answer", where));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return unavailable(
          "the proxy's host cannot be found: look at the proxy option or the variables http_proxy and https_proxy");
    case CURLE_COULDNT_CONNECT: return not_connected(easy, where);
    case CURLE_OPERATION_TIMEDOUT: return unavailable(fmt::format("no connection to {} in time", where));
    case CURLE_PEER_FAILED_VERIFICATION: return certificate_refused(where, detail);
    case CURLE_SSL_CONNECT_ERROR: return no_tls(where, detail);
    case CURLE_SSL_CACERT_BADFILE:
      return invalid_argument(
          "the file or folder of certificates (ca_file, SSL_CERT_FILE) cannot be read or holds none");
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return invalid_argument(fmt::format("'{}' is no web address", url_for_messages(url)));
    case CURLE_OUT_OF_MEMORY: return out_of_budget("no memory for a transfer", 0);
    case CURLE_PROXY:
    case CURLE_RECV_ERROR: return proxy_refused(easy, where, detail);
    case CURLE_GOT_NOTHING: return unavailable(fmt::format("{} closed the connection without an answer", where));
    default: return unavailable(fmt::format("the connection to {} failed ({})", where, detail));
  }
}

}  // namespace forebay
