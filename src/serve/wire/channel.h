#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "forebay/result.h"
#include "serve/wait_clock.h"
#include "serve/wire/message.h"
#include "store/local/local_file.h"

namespace forebay {

/// An encoded message. On the wire it has eight bytes of head (length of the body, type, number of
/// descriptors), followed by the body.
struct Frame {
  MessageType type = MessageType::kHello;
  std::string body;
  std::vector<FileDescriptor> descriptors;
};

/// One end of a Unix stream socket. Any thread may send and shut down; one thread at a time
/// receives.
class Channel {
 public:
  enum class Descriptors : uint8_t { kRefuse, kAccept };

  /// Bodies above `most_bytes` are refused before memory is allocated for them. If `descriptors` is
  /// kRefuse, the kernel closes descriptors that arrive. `clock` measures timeouts and outlives the
  /// channel.
  Channel(FileDescriptor socket, uint64_t most_bytes, Descriptors descriptors, WaitClock& clock = WaitClock::real())
      : socket_(std::move(socket)), max_bytes_(most_bytes), accepts_descriptors_(descriptors == Descriptors::kAccept),
        clock_(clock) {}

  /// Sends a whole message, with at most kMaxDescriptors descriptors. Blocks while the other end
  /// does not read; shut_down() ends that. Returns Unavailable if the other end has closed.
  Status send(MessageType type, std::string_view body, std::span<const int> descriptors = {});
  /// Sends a message of less than a page if that is possible without waiting. Returns false if not.
  bool try_send(MessageType type, std::string_view body);
  /// Returns the next message, or nothing if it has not arrived completely in time. The part that
  /// has arrived is retained for the next call. Errors: Unavailable if the other end has closed;
  /// Corrupt if the bytes are not a frame, after which nothing more can be decoded.
  Result<std::optional<Frame>> receive(std::chrono::milliseconds timeout);
  /// Ends sending and receiving for both ends.
  void shut_down();
  /// Sets the limit on the length of bodies.
  void set_most_bytes(uint64_t bytes) { max_bytes_ = bytes; }
  int descriptor() const { return socket_.get(); }

  static constexpr size_t kMaxDescriptors = 64;

 private:
  struct Head {
    uint32_t bytes = 0;
    uint16_t type = 0, descriptors = 0;
  };
  bool wait_until(WaitClock::TimePoint deadline) const;
  /// Reads the bytes that have arrived, at most `most`. Returns 0 if there are none.
  Result<size_t> read_some(void* to, size_t most);
  Result<bool> read_more();
  void take_descriptors(const msghdr& message);
  Result<std::optional<Frame>> take_frame();

  const FileDescriptor socket_;
  uint64_t max_bytes_;
  const bool accepts_descriptors_;
  WaitClock& clock_;
  Mutex send_mutex_;  // held while a frame is sent; one thread receives

  Head head_;
  size_t head_received_ = 0;
  size_t body_received_ = 0;
  std::string body_;
  std::deque<FileDescriptor> descriptors_;
};

}  // namespace forebay
