#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brokers/nats/nats_session.h"
#include "stream/backoff.h"
#include "stream/record_log.h"

namespace forebay {

/// Reads a JetStream stream in the order of its sequence numbers by pulling: the server sends only
/// as many messages as were requested.
class NatsReader final : public LogReader {
 public:
  NatsReader(NatsAddress address, uint64_t position, bool known_from_first)
      : address_(std::move(address)), known_from_first_(known_from_first), position_(position) {}

  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) override;
  std::vector<LogGap> take_gaps() override { return std::exchange(gaps_, {}); }
  std::string troubled() const override { return troubled_; }
  int64_t reconnects() const override { return reconnects_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status connect(const std::stop_token& stop);
  Status endure(Status error);
  Status read_round(const Limits& limits, Clock::time_point until, const std::stop_token& stop,
                    std::vector<LogRecord>& out);
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
  uint64_t consumed_ = 0;  ///< messages that the session's consumer has delivered
  Backoff backoff_;
  Clock::time_point try_again_{};
  uint64_t message_bytes_ = 64 << 10;  ///< estimated size of a message
  bool was_connected_ = false;
  int64_t reconnects_ = 0;
  std::string troubled_;
  std::vector<LogGap> gaps_;
};

}  // namespace forebay
