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

/// Commands in the form of the protocol, to be sent together.
class RedisCommands {
 public:
  void add(const std::vector<std::string_view>& words);
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(text_.data()), text_.size()}; }

 private:
  std::string text_;
};

/// A connection to a server, signed in, its database chosen. After any error but one of the server's words it is of no more use. For one thread.
class RedisConnection {
 public:
  using Deadline = TcpSocket::Deadline;

  /// Unavailable where it cannot be had now; InvalidArgument where the server refuses who asks.
  static Result<RedisConnection> open(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);

  Status send(const RedisCommands& commands, Deadline deadline, const std::stop_token& stop);
  /// The next answer, valid until the next call. Errors in the server's words are answers, too.
  Result<const RedisReply*> receive(Deadline deadline, const std::stop_token& stop);

 private:
  using Socket = std::variant<TcpSocket, TlsSocket>;

  explicit RedisConnection(Socket socket);
  static Result<Socket> connect(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);
  Status sign_in(const RedisAddress& address, Deadline deadline, const std::stop_token& stop);

  Socket socket_;
  RedisParser parser_;
  std::unique_ptr<uint8_t[]> received_;
  bool answered_ = false;
};

/// What an error in the server's words means for the reader: Unavailable for those that pass by themselves (it is loading its data, …), else InvalidArgument, or
/// Unsupported for a cluster.
Status status_of_redis_error(std::string_view words, const RedisAddress& address);

}  // namespace forebay
