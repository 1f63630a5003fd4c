#include "store/http/http_checksum.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/base64.h"
#include "store/http/amz_checksum.h"
#include "store/md5.h"
#include "store/sha256.h"

namespace forebay {

namespace {

/// Empty if the library lacks MD5.
std::string md5_text(std::span<const uint8_t> bytes) {
  const std::optional<Md5> digest = md5(bytes);
  return digest ? base64(*digest) : "";
}

std::string sha256_text(std::span<const uint8_t> bytes) { return base64(sha256(bytes)); }

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Returns the value of `name` in "sha-256=...,md5=..." or "sha-256=:...:, md5=:...:".
std::string_view member(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view item = without_blanks(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || item.size() < name.size() || equals != name.size()) continue;
    const bool same =
        std::equal(name.begin(), name.end(), item.begin(), [](char a, char b) { return a == (b | 0x20) || a == b; });
    if (!same) continue;
    item.remove_prefix(equals + 1);
    if (item.starts_with(':') && item.ends_with(':') && item.size() >= 2) item = item.substr(1, item.size() - 2);
    return item;
  }
  return {};
}

Status compare(const HttpResponse& response, std::string_view given, std::string (*text_of)(std::span<const uint8_t>),
               std::string_view header) {
  if (given.empty()) return {};
  const std::string ours = text_of(response.body.span());
  // Without a digest of ours there is nothing to compare with.
  if (ours.empty() || ours == given) return {};
  return unavailable(fmt::format("the bytes that arrived do not have the checksum that the server gives ({})", header));
}

}  // namespace

Status check_http_checksum(const HttpResponse& response) {
  FOREBAY_RETURN_IF_ERROR(check_amz_checksum(response));
  FOREBAY_RETURN_IF_ERROR(compare(response, response.header("content-md5"), md5_text, "Content-MD5"));
  // RFC 9530, and the older header that it replaces (RFC 3230).
  for (const std::string_view header : {"repr-digest", "digest"}) {
    const std::string_view list = response.header(header);
    if (list.empty()) continue;
    FOREBAY_RETURN_IF_ERROR(compare(response, member(list, "sha-256"), sha256_text, header));
    FOREBAY_RETURN_IF_ERROR(compare(response, member(list, "md5"), md5_text, header));
  }
  return {};
}

}  // namespace forebay
