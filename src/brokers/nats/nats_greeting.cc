#include "brokers/nats/nats_greeting.h"

#include <array>
#include <string>

#include <nlohmann/json.hpp>

namespace forebay {

namespace {

// The greeting lists all servers of the cluster. The limit guards against other servers.
constexpr size_t kLongestGreeting = 64 << 10;

/// Returns the greeting "INFO {…}\r\n", which comes before TLS begins.
Result<std::string> nats_greeting(const HostPort& server, TcpSocket::Deadline deadline) {
  FOREBAY_ASSIGN(TcpSocket socket, TcpSocket::connect(server, deadline, {}));
  std::string greeting;
  // INFO is the server's first line; it does not wait for the client.
  std::array<uint8_t, 4096> bytes;
  while (greeting.find('\n') == std::string::npos && greeting.size() < kLongestGreeting) {
    FOREBAY_ASSIGN(const size_t got, socket.receive(bytes, deadline, {}));
    greeting.append(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(got));
  }
  return greeting;
}

}  // namespace

bool wants_client_certificate(const NatsAddress& address, TcpSocket::Deadline deadline) {
  for (const HostPort& server : address.servers) {
    const auto greeting = nats_greeting(server, deadline);
    if (!greeting.ok() || !greeting->starts_with("INFO ")) continue;
    const auto info = nlohmann::json::parse(greeting->substr(5, greeting->find('\n') - 5), nullptr, false);
    if (info.is_object() && info.contains("tls_verify") && info["tls_verify"] == true) return true;
  }
  return false;
}

}  // namespace forebay
