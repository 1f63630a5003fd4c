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

/// Sequence numbers of the messages in a stream.
struct NatsRange {
  uint64_t first = 0, last = 0;  ///< first > last: none
};

/// Position of a message in its stream, and in the deliveries of its consumer.
struct NatsSequence {
  uint64_t stream = 0, consumer = 0;
  /// Parses the reply subject that JetStream gives to a message; nothing for other subjects.
  static std::optional<NatsSequence> of_reply(std::string_view subject);
};

/// A connection with a consumer of its own, which stores no state on the server. The server removes
/// the consumer when the session ends, or half a minute later. It never reconnects. Used by one
/// thread.
class NatsSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// Opens a session whose consumer begins with the message of that sequence number, or the first
  /// one after it. Unavailable if that is not possible now; NotFound if there is no such stream;
  /// InvalidArgument if the server refuses this client.
  static Result<NatsSession> open(const NatsAddress& address, uint64_t begin, Clock::time_point deadline,
                                  const std::stop_token& stop);
  /// Connects and returns the messages that the stream has.
  static Result<NatsRange> ask(const NatsAddress& address, Clock::time_point deadline, const std::stop_token& stop);

  /// Returns the messages of the stream when the session was opened.
  const NatsRange& range() const;
  /// Returns the messages of the stream now.
  Result<NatsRange> range_now(Clock::time_point deadline, const std::stop_token& stop) const;
  /// Returns at most `most` messages; an empty vector if none arrives within `wait`. After an error
  /// the session cannot be used any more.
  Result<std::vector<NatsMessage>> fetch(int most, std::chrono::milliseconds wait);

 private:
  struct Parts;
  explicit NatsSession(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;
};

}  // namespace forebay
