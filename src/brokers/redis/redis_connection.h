#pragma once

#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "brokers/redis/redis_reply.h"
#include "brokers/tls_socket.h"
#include "stream/broker/redis_address.h"

namespace forebay {

/// Commands encoded for the protocol, to be sent together.
class RedisCommands {
 public:
  void add(const std::vector<std::string_view>& words);
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(text_.data()), text_.size()}; }

 private:
  std::string text_;
};

/// An authenticated connection to a server, with its database selected. After any error, except
/// error replies of the server, it cannot be used any more. Used by one thread.
class RedisConnection {
 public:
  using Deadline = TcpSocket::Deadline;

  /// Opens a connection. Unavailable if that is not possible now; InvalidArgument if the server
  /// refuses this client.
  static Result<RedisConnection> open(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);

  Status send(const RedisCommands& commands, Deadline deadline, const std::stop_token& stop);
  /// Returns the next reply, valid until the next call. Error replies of the server count as
  /// replies.
  Result<const RedisReply*> receive(Deadline deadline, const std::stop_token& stop);

 private:
  using Socket = std::variant<TcpSocket, TlsSocket>;

  explicit RedisConnection(Socket socket);
  static Result<Socket> connect(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);
  Status authenticate(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);

  Socket socket_;
  RedisParser parser_;
  std::unique_ptr<uint8_t[]> received_;
  bool answered_ = false;
};

/// Converts an error reply of the server: Unavailable for transient ones (such as loading its
/// data), Unsupported for a cluster, otherwise InvalidArgument.
Status status_of_redis_error(std::string_view words, const RedisAddress& address);

}  // namespace forebay
