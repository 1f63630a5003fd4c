#include "store/http/curl_trust.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/system_authorities.h"

namespace forebay {

namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// libcurl caches parsed authorities only if they are in one file. Reading them costs 10 ms for
/// each connection.
void set_authorities(CURL* easy, const HttpConnectionOptions& options) {
  std::string file = options.ca_file, folder;
  if (file.empty()) file = from_environment("SSL_CERT_FILE"), folder = from_environment("SSL_CERT_DIR");
  if (is_folder(file)) folder = std::exchange(file, "");
  if (file.empty() && folder.empty()) {
    file = system_authorities();
    if (file.empty()) return;
  }
  curl_easy_setopt(easy, CURLOPT_CAINFO, file.empty() ? nullptr : file.c_str());
  curl_easy_setopt(easy, CURLOPT_CAPATH, folder.empty() ? nullptr : folder.c_str());
}

void set_pem(CURL* easy, CURLoption option, const std::string& pem) {
  // libcurl's C interface takes a copy; the text is not changed.
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy, option, &blob);
}

void set_mutual_tls(CURL* easy, const MutualTls& tls) {
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  // Both have defaults, and a folder is trusted in addition. Without this, certificates of the
  // system's authorities would be trusted, too.
  curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  set_pem(easy, CURLOPT_CAINFO_BLOB, tls.authorities);
  set_pem(easy, CURLOPT_SSLCERT_BLOB, tls.certificate);
  set_pem(easy, CURLOPT_SSLKEY_BLOB, tls.key);
}

}  // namespace

void set_trust(CURL* easy, const HttpConnectionOptions& options) {
  if (options.mutual_tls) return set_mutual_tls(easy, *options.mutual_tls);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options.verify ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options.verify ? 2L : 0L);
  set_authorities(easy, options);
}

}  // namespace forebay
