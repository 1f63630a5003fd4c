#include "store/s3/signer.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "store/percent.h"

namespace forebay {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

/// "20130524T000000Z"
std::string basic_time(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

/// Without spaces around it, and with one for each run inside.
std::string with_single_spaces(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

std::string canonical_query(const QueryParameters& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name, false), percent_encode(value, false));
  }
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

std::string Signer::canonical_request(const ToSign& request, std::vector<HttpHeader> headers,
                                      std::string* signed_headers) {
  for (HttpHeader& header : headers) header = {in_lower_case(header.name), with_single_spaces(header.value)};
  std::ranges::stable_sort(headers, {}, &HttpHeader::name);
  std::string lines;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (i > 0 && headers[i].name == headers[i - 1].name) {
      lines.insert(lines.size() - 1, "," + headers[i].value);
      continue;
    }
    lines += fmt::format("{}:{}\n", headers[i].name, headers[i].value);
    *signed_headers += (signed_headers->empty() ? "" : ";") + headers[i].name;
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path, canonical_query(request.query), lines,
                     *signed_headers, request.payload_hash);
}

Sha256 Signer::signing_key(const Credentials& credentials, std::string_view day) const {
  std::string key_of = fmt::format("{} {}", day, credentials.secret_access_key);
  const std::lock_guard lock(mutex_);
  if (key_of != key_of_) {
    const std::string start = "AWS4" + credentials.secret_access_key;
    key_ = hmac_sha256({reinterpret_cast<const uint8_t*>(start.data()), start.size()}, day);
    key_ = hmac_sha256(key_, region_);
    key_ = hmac_sha256(key_, service_);
    key_ = hmac_sha256(key_, "aws4_request");
    key_of_ = std::move(key_of);
  }
  return key_;
}

std::vector<HttpHeader> Signer::sign(const ToSign& request, const Credentials& credentials, WallTime now) const {
  const std::string time = basic_time(now);
  const std::string_view day = std::string_view(time).substr(0, 8);
  std::vector<HttpHeader> added;
  added.push_back({"x-amz-date", time});
  if (service_ == "s3") added.push_back({"x-amz-content-sha256", request.payload_hash});
  if (!credentials.session_token.empty()) added.push_back({"x-amz-security-token", credentials.session_token});

  std::vector<HttpHeader> headers = request.headers;
  headers.push_back({"host", request.host});
  headers.insert(headers.end(), added.begin(), added.end());
  std::string signed_headers;
  const std::string canonical = canonical_request(request, std::move(headers), &signed_headers);

  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, region_, service_);
  const std::string text = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, hex(sha256(canonical)));
  const std::string signature = hex(hmac_sha256(signing_key(credentials, day), text));
  added.push_back({"authorization", fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                                                credentials.access_key_id, scope, signed_headers, signature)});
  return added;
}

}  // namespace forebay
