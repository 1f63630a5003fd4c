#include "format/files/open_store.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "format/files/imitate_link.h"
#include "format/files/remote_stores.h"
#include "store/bounded/bounded_store.h"
#include "store/http/http_url.h"
#include "store/local/local_store.h"
#include "store/s3/s3_options.h"

namespace forebay {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

Result<std::string> path_of_file_url(std::string_view url) {
  std::string_view rest = url.substr(std::string_view("file://").size());
  const size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  // RFC 8089, section 2: the file may be on another host.
  if (slash == std::string_view::npos || !(host.empty() || host == "localhost")) {
    return invalid_argument(fmt::format("'{}': a file URL has three slashes, as in file:///data/photos", url));
  }
  auto path = percent_decoded(rest.substr(slash));
  if (!path) return invalid_argument(fmt::format("'{}': a '%' without two hexadecimal digits behind it", url));
  return std::move(*path);
}

Result<UrlPlace> place_of_s3_url(std::string_view url) {
  const std::string_view rest = url.substr(std::string_view("s3://").size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string bucket(rest.substr(0, slash));
  FOREBAY_RETURN_IF_ERROR(check_bucket_name(bucket));
  return UrlPlace{"s3://" + bucket, std::string(rest.substr(std::min(slash + 1, rest.size())))};
}

Status unknown_option(const std::string& name, std::string_view what, std::string known) {
  for (const std::string_view option : link_option_names())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", option);
  return invalid_argument(fmt::format("there is no storage option '{}'; {} have: {}", name, what, known));
}

Result<std::shared_ptr<Store>> store_of(const UrlPlace& location, const StorageOptions& options) {
  if (location.store == "http") return open_http_store(location.path, options);
  if (!location.store.empty()) return open_s3_store(location.store.substr(std::string_view("s3://").size()), options);
  if (!options.empty()) return unknown_option(options.begin()->first, "local files", "");
  return std::shared_ptr<Store>(local_store(""));
}

}  // namespace

std::string_view url_scheme(std::string_view url) {
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = url.substr(0, colon);
  const bool valid =
      std::ranges::all_of(scheme, [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
  return valid ? scheme : std::string_view();
}

Result<UrlPlace> parse_url(std::string_view url) {
  if (url.empty()) return invalid_argument("the path is empty; '.' is the current folder");
  const std::string_view scheme = url_scheme(url);
  if (scheme.empty()) return UrlPlace{"", std::string(url)};
  if (scheme == "file") {
    FOREBAY_ASSIGN(std::string path, path_of_file_url(url));
    return UrlPlace{"", std::move(path)};
  }
  if (scheme == "s3") return place_of_s3_url(url);
  if (scheme == "http" || scheme == "https") return UrlPlace{"http", std::string(url)};
  if (scheme == "gs" || scheme == "gcs") {
    return unsupported(fmt::format(
        "'{}': Google Cloud Storage is read through its S3 interface: write s3://{} with the storage options "
        "endpoint=https://storage.googleapis.com, access_key_id and secret_access_key, which are an HMAC key (gcloud "
        "storage hmac create); or anonymous=true for a public bucket",
        url, url.substr(scheme.size() + 3)));
  }
  if (scheme == "s3a" || scheme == "s3n")
    return unsupported(fmt::format("'{}': write s3://{}", url, url.substr(scheme.size() + 3)));
  return unsupported(fmt::format(
      "'{}': no storage is called '{}'; known are plain paths, file://, s3://, http:// and https://", url, scheme));
}

Result<std::string> parse_listed(std::string_view url, std::string_view first, std::string_view store) {
  FOREBAY_ASSIGN(UrlPlace location, parse_url(url));
  if (location.store == store) return std::move(location.path);
  return invalid_argument(
      fmt::format("'{}' lies in another store than '{}', the first of the list; a list is of one store (one bucket): "
                  "make a pipeline for each",
                  url_for_messages(url), url_for_messages(first)));
}

Result<StoreAndPath> open_store(std::string_view url, const StorageOptions& options, std::optional<int> most) {
  FOREBAY_ASSIGN(UrlPlace location, parse_url(url));
  // Options of a simulated link apply to every store; the scheme checks the others.
  StorageOptions own = options, link;
  for (auto at = own.begin(); at != own.end();) {
    if (is_link_option(at->first))
      link.insert(own.extract(at++));
    else
      ++at;
  }
  FOREBAY_ASSIGN(std::shared_ptr<Store> store, store_of(location, own));
  FOREBAY_ASSIGN(store, imitate_link(std::move(store), link));
  if (most && *most > 0 && store->remote()) store = bounded_store(std::move(store), *most);
  return StoreAndPath{std::move(store), std::move(location.path), std::move(location.store)};
}

}  // namespace forebay
