#pragma once

#include <nats/nats.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "stream/broker/nats_address.h"

namespace forebay {

struct DestroyMessage {
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using NatsMessage = std::unique_ptr<natsMsg, DestroyMessage>;

/// Which messages a stream has.
struct NatsRange {
  uint64_t first = 0, last = 0;  ///< first > last: none
};

/// Where a message stands in its stream, and in what its consumer was given.
struct NatsSequence {
  uint64_t stream = 0, consumer = 0;
  /// From the subject that JetStream gives to be answered to; nothing where it is none.
  static std::optional<NatsSequence> of_reply(std::string_view subject);
};

/// A connection with a consumer of its own, which keeps no state on the server: gone when it is, or half a minute later. Never connects again. For one thread.
class NatsSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// A consumer that begins with the message of that sequence number, or the first one behind it. Unavailable where there is none to be had now; NotFound where there is no such stream;
  /// InvalidArgument where the server refuses who asks.
  static Result<NatsSession> open(const NatsAddress& address, uint64_t begin, Clock::time_point deadline,
                                  const std::stop_token& stop);
  /// Connects to ask what the stream has.
  static Result<NatsRange> ask(const NatsAddress& address, Clock::time_point deadline, const std::stop_token& stop);

  /// When the session was opened.
  const NatsRange& range() const;
  /// What the stream has now.
  Result<NatsRange> range_now(Clock::time_point deadline, const std::stop_token& stop) const;
  /// So many messages at most, none after `wait`. After an error it is of no more use.
  Result<std::vector<NatsMessage>> fetch(int most, std::chrono::milliseconds wait);

 private:
  struct Parts;
  explicit NatsSession(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;
};

}  // namespace forebay
