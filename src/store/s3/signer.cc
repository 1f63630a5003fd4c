#include "store/s3/signer.h"

#include <algorithm>
#include <ctime>
#include <initializer_list>

#include <fmt/format.h>

#include "store/percent.h"

namespace forebay {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

/// Formats a time as "20130524T000000Z".
std::string basic_time(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void to_lower_case(std::string& text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/// Removes spaces around the value, and keeps one of each run inside it.
void to_single_spaces(std::string& value) {
  size_t kept = 0;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t';
    if (!space)
      value[kept++] = c;
    else if (kept > 0 && value[kept - 1] != ' ')
      value[kept++] = ' ';
  }
  if (kept > 0 && value[kept - 1] == ' ') --kept;
  value.resize(kept);
}

/// Uses one allocation, because this runs for every request.
std::string joined(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace

std::string canonical_query(const QueryParameters& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  }
  // Sorted by encoded names, as the signature requires.
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

std::string Signer::canonical_request(const ToSign& request, std::vector<HttpHeader> headers,
                                      std::string* signed_headers) {
  size_t size = 0;
  for (HttpHeader& header : headers) {
    to_lower_case(header.name);
    to_single_spaces(header.value);
    size += header.name.size() + header.value.size() + 2;
  }
  std::ranges::stable_sort(headers, {}, &HttpHeader::name);
  std::string lines;
  lines.reserve(size);
  for (size_t i = 0; i < headers.size(); ++i) {
    if (i > 0 && headers[i].name == headers[i - 1].name) {
      // Values of one name form one line: the next value replaces the line end.
      lines.back() = ',';
      lines.append(headers[i].value).append("\n");
      continue;
    }
    lines.append(headers[i].name).append(":").append(headers[i].value).append("\n");
    signed_headers->append(signed_headers->empty() ? "" : ";").append(headers[i].name);
  }
  return joined({request.method, "\n", request.path, "\n", canonical_query(request.query), "\n", lines, "\n",
                 *signed_headers, "\n", request.payload_hash});
}

Sha256 Signer::signing_key(const Credentials& credentials, std::string_view day) const {
  std::string key_of = joined({day, " ", credentials.secret_access_key});
  const Lock lock(mutex_);
  // Four HMACs for each day, region and service. New credentials have another secret, and so
  // another key.
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
  added.reserve(4);
  added.push_back({"x-amz-date", time});
  if (service_ == "s3") added.push_back({"x-amz-content-sha256", request.payload_hash});
  if (!credentials.session_token.empty()) added.push_back({"x-amz-security-token", credentials.session_token});

  std::vector<HttpHeader> headers;
  headers.reserve(request.headers.size() + 1 + added.size());
  headers.insert(headers.end(), request.headers.begin(), request.headers.end());
  headers.push_back({"host", request.host});
  headers.insert(headers.end(), added.begin(), added.end());
  std::string signed_headers;
  signed_headers.reserve(128);
  const std::string canonical = canonical_request(request, std::move(headers), &signed_headers);

  const std::string scope = joined({day, "/", region_, "/", service_, "/aws4_request"});
  const std::string text = joined({kAlgorithm, "\n", time, "\n", scope, "\n", hex(sha256(canonical))});
  const std::string signature = hex(hmac_sha256(signing_key(credentials, day), text));
  added.push_back({"authorization", joined({kAlgorithm, " Credential=", credentials.access_key_id, "/", scope,
                                            ", SignedHeaders=", signed_headers, ", Signature=", signature})});
  return added;
}

}  // namespace forebay
