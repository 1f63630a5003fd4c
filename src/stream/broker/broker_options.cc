#include "stream/broker/broker_options.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "base/system_authorities.h"

namespace forebay {

namespace {

/// Returns the member for an option that all brokers have; null for other options.
std::string* common_option(const std::string& name, BrokerOptions& options) {
  if (name == "user") return &options.user;
  if (name == "password") return &options.password;
  if (name == "ca_file") return &options.tls.ca_file;
  if (name == "certificate_file") return &options.tls.certificate_file;
  return name == "key_file" ? &options.tls.key_file : nullptr;
}

Status unknown_broker_option(const std::string& name, const std::string& scheme,
                             std::span<const std::string_view> own) {
  std::vector<std::string> known{"user", "password", "ca_file", "certificate_file", "key_file"};
  known.insert(known.end(), own.begin(), own.end());
  std::ranges::sort(known);
  return invalid_argument(fmt::format("there is no storage option '{}'{} for {}://, which has: {}", name,
                                      suggestion_text(name, known), scheme, fmt::join(known, ", ")));
}

Status set_broker_option(const std::string& name, const std::string& value, BrokerOptions& options) {
  std::string* const common = common_option(name, options);
  std::string& place = common != nullptr ? *common : options.own[name];
  if (!place.empty()) return invalid_argument(fmt::format("the URL and storage_options both give the {}", name));
  // Libraries take C strings, and would use only the part before the zero byte.
  if (value.find('\0') != std::string::npos) return invalid_argument(fmt::format("{} has a zero byte", name));
  place = value;
  return {};
}

}  // namespace

std::string BrokerOptions::own_text(const std::string& name) const {
  const auto found = own.find(name);
  return found == own.end() ? "" : found->second;
}

Result<BrokerOptions> parse_broker_options(const std::map<std::string, std::string>& options, const BrokerUrl& url,
                                           std::span<const std::string_view> own) {
  BrokerOptions parsed;
  parsed.user = url.user;
  parsed.password = url.password;
  for (const auto& [name, value] : options) {
    if (common_option(name, parsed) == nullptr && std::ranges::find(own, name) == own.end())
      return unknown_broker_option(name, url.scheme, own);
    FOREBAY_RETURN_IF_ERROR(set_broker_option(name, value, parsed));
  }
  if (const auto name = parsed.own.find("server_name"); name != parsed.own.end()) parsed.tls.server_name = name->second;
  const TlsOptions& tls = parsed.tls;
  parsed.any_tls = !(tls.ca_file + tls.certificate_file + tls.key_file + tls.server_name).empty();
  if (parsed.any_tls) FOREBAY_RETURN_IF_ERROR(check_tls_options(tls));
  // A server may demand TLS where nobody has asked for it.
  if (tls.ca_file.empty()) parsed.tls.ca_file = system_authorities();
  return parsed;
}

}  // namespace forebay
