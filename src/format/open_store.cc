#include "format/open_store.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "store/local/local_store.h"

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
  if (slash == std::string_view::npos || !(host.empty() || host == "localhost")) {
    return invalid_argument(fmt::format("'{}': a file URL has three slashes, as in file:///data/photos", url));
  }
  auto path = percent_decoded(rest.substr(slash));
  if (!path) return invalid_argument(fmt::format("'{}': a '%' without two hexadecimal digits behind it", url));
  return std::move(*path);
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

Result<std::string> path_of_url(std::string_view url) {
  const std::string_view scheme = url_scheme(url);
  if (url.empty()) return invalid_argument("the path is empty; '.' is the current folder");
  if (scheme.empty()) return std::string(url);
  if (scheme == "file") return path_of_file_url(url);
  if (scheme == "s3" || scheme == "http" || scheme == "https") {
    return unsupported(
        fmt::format("'{}': {}:// is not there yet: this version reads local files; copy the data to a local "
                    "folder or mount it",
                    url, scheme));
  }
  return unsupported(fmt::format("'{}': no storage is called '{}'; known are plain paths and file://", url, scheme));
}

Result<StoreAndPath> open_store(std::string_view url) {
  FOREBAY_ASSIGN(std::string path, path_of_url(url));
  return StoreAndPath{local_store(""), std::move(path)};
}

}  // namespace forebay
