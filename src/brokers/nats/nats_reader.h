#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brokers/connected_reader.h"
#include "brokers/nats/nats_session.h"

namespace forebay {

/// Reads a JetStream stream in the order of its sequence numbers by pulling: the server sends only
/// as many messages as were requested.
class NatsReader final : public ConnectedReader {
 public:
  NatsReader(NatsAddress address, uint64_t position, bool known_from_first)
      : ConnectedReader(address.name, address.servers.front().to_string()), address_(std::move(address)),
        known_from_first_(known_from_first), position_(position) {}

 private:
  using Clock = std::chrono::steady_clock;

  bool is_connected() const override { return session_.has_value(); }
  Status connect(bool again, const std::stop_token& stop) override;
  void disconnect() override { session_.reset(); }
  Status read_round(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                    std::vector<LogRecord>& out) override;
  /// Appends the messages to `out`. Unavailable if the library lost one.
  Status take(std::vector<NatsMessage> messages, const std::stop_token& stop, std::vector<LogRecord>& out);
  /// Finds out whether the messages between the position and `next` are missing because the stream
  /// has deleted them.
  Status check_jump(uint64_t next, const std::stop_token& stop);
  void note_gap(uint64_t until);

  const NatsAddress address_;
  const bool known_from_first_;
  uint64_t position_;  ///< of the last message returned
  std::optional<NatsSession> session_;
  uint64_t consumed_ = 0;              ///< messages that the session's consumer has delivered
  uint64_t message_bytes_ = 64 << 10;  ///< estimated size of a message
};

}  // namespace forebay
