#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Which topic of which cluster: "kafka://[user:password@]host[:port][,host[:port]]/TOPIC".
struct KafkaAddress {
  std::string brokers;                          ///< "host:port,host:port"
  std::map<std::string, std::string> security;  ///< settings of librdkafka's: TLS, SASL, who asks
  std::string password;                         ///< among them; in no message
  std::string server_names;                     ///< the brokers' hosts, for messages
  bool with_certificate = false;
  std::string topic;
  std::vector<size_t>
      partitions;       ///< numbers of those that are read, increasing; empty: all, until it is known which these are
  bool chosen = false;  ///< whether somebody chose them
  /// "kafka://host:port/TOPIC", without who asks.
  std::string name;

  /// `options`: as broker_options.h has them, and security_protocol, sasl_mechanism. What is given
  /// decides the protocol where that is not: TLS with one of TLS' options, SASL (PLAIN, if nothing
  /// is said) with a password.
  static Result<KafkaAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
