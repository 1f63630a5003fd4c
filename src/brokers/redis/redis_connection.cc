#include "brokers/redis/redis_connection.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "stream/broker_url.h"

namespace forebay {

namespace {

constexpr size_t kReceiveBytes = 256 << 10;
constexpr auto kPerhapsTls = " (if it speaks TLS at this port: rediss://)";
constexpr auto kWhoAsks = " (user and password are those of the URL or of storage_options)";

bool passes_by_itself(std::string_view words) {
  for (const std::string_view word :
       {"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "UNBLOCKED", "NOREPLICAS"}) {
    if (words.starts_with(word)) return true;
  }
  return words.starts_with("ERR max number of clients");
}

}  // namespace

void RedisCommands::add(const std::vector<std::string_view>& words) {
  // RESP: arrays of bulk strings preceded by their lengths, so that words may hold any bytes.
  text_ += fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words) {
    text_ += fmt::format("${}\r\n", word.size());
    text_ += word;
    text_ += "\r\n";
  }
}

Status status_of_redis_error(std::string_view words, const RedisAddress& address) {
  const std::string text = without_secret(std::string(words.substr(0, 500)), address.password);
  if (passes_by_itself(words)) return unavailable(text);
  if (words.starts_with("MOVED") || words.starts_with("ASK"))
    return unsupported(fmt::format("{}: this is a Redis cluster; name the server that has the stream", text));
  const bool who = std::ranges::any_of(std::array{"WRONGPASS", "NOAUTH", "NOPERM", "ERR AUTH"},
                                       [&](const char* word) { return words.starts_with(word); });
  return invalid_argument(who ? text + kWhoAsks : text);
}

RedisConnection::RedisConnection(Socket socket)
    : socket_(std::move(socket)), received_(std::make_unique_for_overwrite<uint8_t[]>(kReceiveBytes)) {}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address, Deadline deadline,
                                              const std::stop_token& stop) {
  FOREBAY_ASSIGN(Socket socket, connect(address, deadline, stop));
  RedisConnection connection(std::move(socket));
  const Status status = connection.authenticate(address, deadline, stop);
  if (status.ok()) return connection;
  // A server that expects TLS does not answer a client without it.
  const bool perhaps_tls = !address.tls && status.code() == Code::kUnavailable && !connection.answered_;
  return perhaps_tls ? unavailable(status.message() + kPerhapsTls) : status;
}

Result<RedisConnection::Socket> RedisConnection::connect(const RedisAddress& address, Deadline deadline,
                                                         const std::stop_token& stop) {
  if (address.tls) {
    FOREBAY_ASSIGN(TlsSocket socket, TlsSocket::connect(address.host, *address.tls, deadline, stop));
    return Socket(std::move(socket));
  }
  FOREBAY_ASSIGN(TcpSocket socket, TcpSocket::connect(address.host, deadline, stop));
  return Socket(std::move(socket));
}

Status RedisConnection::send(const RedisCommands& commands, Deadline deadline, const std::stop_token& stop) {
  return std::visit([&](auto& socket) { return socket.send(commands.bytes(), deadline, stop); }, socket_);
}

Status RedisConnection::authenticate(const RedisAddress& address, Deadline deadline, const std::stop_token& stop) {
  RedisCommands commands;
  const std::string database = fmt::format("{}", address.database);
  size_t answers = 1;
  // A user may have no password (ACL "nopass"), and differs from `default` even then.
  if (!address.password.empty() || !address.user.empty()) {
    ++answers;
    if (address.user.empty())
      // The password of `default`, which is the only user before version 6.0.
      commands.add({"AUTH", address.password});
    else
      commands.add({"AUTH", address.user, address.password});
  }
  commands.add({"SELECT", database});
  FOREBAY_RETURN_IF_ERROR(send(commands, deadline, stop));
  for (; answers > 0; --answers) {
    FOREBAY_ASSIGN(const RedisReply* const reply, receive(deadline, stop));
    if (reply->is(0, RedisReply::Kind::kError)) return status_of_redis_error(reply->text(0), address);
  }
  return {};
}

Result<const RedisReply*> RedisConnection::receive(Deadline deadline, const std::stop_token& stop) {
  while (true) {
    FOREBAY_ASSIGN(const RedisReply* const reply, parser_.next());
    if (reply != nullptr) return reply;
    const std::span<uint8_t> into(received_.get(), kReceiveBytes);
    FOREBAY_ASSIGN(const size_t got,
                   std::visit([&](auto& socket) { return socket.receive(into, deadline, stop); }, socket_));
    // After any byte, the problem is not that the server expects TLS.
    answered_ = true;
    parser_.feed({received_.get(), got});
  }
}

}  // namespace forebay
