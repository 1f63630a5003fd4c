#include "stream/broker/kafka_address.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "stream/broker/broker_options.h"
#include "stream/broker_url.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 2> kKafkaOptions = {"sasl_mechanism", "security_protocol"};

/// Translates options into librdkafka's settings.
std::map<std::string, std::string> kafka_security(const BrokerOptions& options) {
  const bool sasl = !options.password.empty() || !options.own_text("sasl_mechanism").empty();
  std::string protocol = options.own_text("security_protocol");
  if (protocol.empty() && sasl) protocol = options.any_tls ? "SASL_SSL" : "SASL_PLAINTEXT";
  if (protocol.empty()) protocol = options.any_tls ? "SSL" : "PLAINTEXT";
  std::map<std::string, std::string> settings{{"security.protocol", protocol}};
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) settings[name] = value;
  };
  if (options.any_tls || protocol.ends_with("SSL") || protocol.ends_with("ssl"))
    set("ssl.ca.location", options.tls.ca_file);
  set("ssl.certificate.location", options.tls.certificate_file);
  set("ssl.key.location", options.tls.key_file);
  if (!sasl) return settings;
  // librdkafka's default is GSSAPI, which needs more than a password.
  settings["sasl.mechanism"] = "PLAIN";
  set("sasl.mechanism", options.own_text("sasl_mechanism"));
  set("sasl.username", options.user);
  set("sasl.password", options.password);
  return settings;
}

/// Refuses options that the protocol would ignore: a password must not go over a connection that
/// the user wrongly believes to be encrypted, and must not stay unused.
Status check_kafka_security(const KafkaAddress& address, const BrokerOptions& options) {
  std::string protocol = address.security.at("security.protocol");
  for (char& c : protocol) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (options.any_tls && !protocol.ends_with("SSL"))
    return invalid_argument(
        fmt::format("security_protocol={} is without TLS, of which there are options: SSL or SASL_SSL", protocol));
  if (address.security.contains("sasl.mechanism") && !protocol.starts_with("SASL"))
    return invalid_argument(fmt::format(
        "security_protocol={} asks nobody who they are, and a password or a mechanism is given: SASL_SSL", protocol));
  return {};
}

bool is_topic_name(std::string_view text) {
  return !text.empty() && text.size() <= 249 && text != "." && text != ".." &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

Result<KafkaAddress> KafkaAddress::parse(std::string_view text, const std::map<std::string, std::string>& given) {
  FOREBAY_ASSIGN(const BrokerUrl url, parse_broker_url(text, 9092));
  if (url.path.size() != 1 || !is_topic_name(url.path[0]))
    return invalid_argument("a kafka:// URL is kafka://[user:password@]host[:port][,host[:port]]/TOPIC");
  FOREBAY_ASSIGN(const BrokerOptions options, parse_broker_options(given, url, kKafkaOptions));
  KafkaAddress address;
  for (const HostPort& host : url.hosts) {
    address.brokers += (address.brokers.empty() ? "" : ",") + host.to_string();
    address.server_names += (address.server_names.empty() ? "" : ",") + host.host;
  }
  address.security = kafka_security(options);
  FOREBAY_RETURN_IF_ERROR(check_kafka_security(address, options));
  address.password = options.password;
  address.with_certificate = !options.tls.certificate_file.empty();
  address.topic = url.path[0];
  address.name = url.without_credentials();
  return address;
}

}  // namespace forebay
