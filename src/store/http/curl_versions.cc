#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include "store/http/http_versions.h"

namespace forebay {

Result<std::string> http_versions() {
  const std::string_view openssl = OpenSSL_version(OPENSSL_VERSION);  // "OpenSSL 3.0.15 3 Sep 2024"
  return fmt::format("libcurl {}, {}", curl_version_info(CURLVERSION_NOW)->version,
                     openssl.substr(0, openssl.find(' ', openssl.find(' ') + 1)));
}

}  // namespace forebay
