#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// The address of a topic: "kafka://[user:password@]host[:port][,host[:port]]/TOPIC".
struct KafkaAddress {
  std::string brokers;                          ///< "host:port,host:port", for librdkafka
  std::map<std::string, std::string> security;  ///< librdkafka settings: TLS, SASL, credentials
  std::string password;                         ///< also in `security`; must not appear in messages
  std::string server_names;                     ///< "host,host": the brokers without ports, for messages
  bool with_certificate = false;                ///< a client certificate is given
  std::string topic;
  /// Numbers of the partitions to read, increasing. parse() leaves it empty, and open_log() sets
  /// the user's choice. Without one KafkaLog sets all partitions, once the cluster has named them.
  std::vector<size_t> partitions;
  bool chosen = false;  ///< whether the user chose the partitions; set by KafkaLog
  /// The stream's name in messages: "kafka://host:port/TOPIC", without credentials.
  std::string name;

  /// `options`: those of broker_options.h, security_protocol and sasl_mechanism. Without
  /// security_protocol the other options decide the protocol: TLS if an option of TLS is given,
  /// SASL (by default PLAIN) if a password or a mechanism is given.
  static Result<KafkaAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

}  // namespace forebay
