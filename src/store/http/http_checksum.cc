#include "store/http/http_checksum.h"

#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/base64.h"
#include "store/http/amz_checksum.h"

namespace forebay {

namespace {

std::string digest_of(const EVP_MD* algorithm, std::span<const uint8_t> bytes) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm, nullptr) != 1) return {};
  return base64({digest.data(), size});
}

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

Status compare(const HttpResponse& response, std::string_view given, const EVP_MD* algorithm, std::string_view header) {
  if (given.empty()) return {};
  const std::string ours = digest_of(algorithm, response.body.span());
  // Empty if the library lacks this digest (MD5 in FIPS mode): there is nothing to compare with.
  if (ours.empty() || ours == given) return {};
  return unavailable(fmt::format("the bytes that arrived do not have the checksum that the server gives ({})", header));
}

}  // namespace

Status check_http_checksum(const HttpResponse& response) {
  FOREBAY_RETURN_IF_ERROR(check_amz_checksum(response));
  FOREBAY_RETURN_IF_ERROR(compare(response, response.header("content-md5"), EVP_md5(), "Content-MD5"));
  // RFC 9530, and the older header that it replaces (RFC 3230).
  for (const std::string_view header : {"repr-digest", "digest"}) {
    const std::string_view list = response.header(header);
    if (list.empty()) continue;
    FOREBAY_RETURN_IF_ERROR(compare(response, member(list, "sha-256"), EVP_sha256(), header));
    FOREBAY_RETURN_IF_ERROR(compare(response, member(list, "md5"), EVP_md5(), header));
  }
  return {};
}

}  // namespace forebay
