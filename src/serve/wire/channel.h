#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "serve/wire/message.h"
#include "store/local/local_file.h"

namespace forebay {

/// A message on its way: eight bytes of head (length of the body, type, number of descriptors), then the body.
struct Frame {
  MessageType type = MessageType::kHello;
  std::string body;
  std::vector<FileDescriptor> descriptors;
};

/// One end of a Unix stream socket. Any thread may send and shut down; one at a time receives.
class Channel {
 public:
  /// `most_bytes`: longer bodies are refused, before memory is taken for them. `descriptors`: whether any are taken; others are closed.
  Channel(FileDescriptor socket, uint64_t most_bytes, bool descriptors)
      : socket_(std::move(socket)), most_bytes_(most_bytes), takes_descriptors_(descriptors) {}

  /// All of it, or Unavailable: the other end has gone. Waits while the other end does not read; shut_down() ends that.
  /// At most kMostDescriptors.
  Status send(MessageType type, std::string_view body, std::span<const int> descriptors = {});
  /// The same for a message of less than a page, where that needs no waiting. False where it does.
  bool try_send(MessageType type, std::string_view body);
  /// Nothing where it did not come in time; what had come of it stays. Unavailable: the other end has gone. Corrupt: what came is
  /// no frame, and nothing that follows can be understood.
  Result<std::optional<Frame>> receive(std::chrono::milliseconds timeout);
  /// From now on nothing comes and nothing goes; both ends see that.
  void shut_down();
  /// Bodies may be so long from now on.
  void set_most_bytes(uint64_t bytes) { most_bytes_ = bytes; }
  int descriptor() const { return socket_.get(); }

  static constexpr size_t kMostDescriptors = 64;

 private:
  struct Head {
    uint32_t bytes = 0;
    uint16_t type = 0, descriptors = 0;
  };
  bool wait_for(short event, std::chrono::steady_clock::time_point deadline) const;
  /// Some more bytes; 0: none are there now.
  Result<size_t> read_some(void* to, size_t most);
  Result<bool> read_more();
  void take_descriptors(const msghdr& message);
  Result<std::optional<Frame>> whole();

  const FileDescriptor socket_;
  uint64_t most_bytes_;
  const bool takes_descriptors_;
  std::mutex send_mutex_;

  Head head_;
  size_t have_head_ = 0, have_body_ = 0;
  std::string body_;
  std::deque<FileDescriptor> descriptors_;
};

}  // namespace forebay
