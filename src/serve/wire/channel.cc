#include "serve/wire/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kGrowth = size_t{1} << 20;  // a body's memory grows only as its bytes arrive

Status closed_by_peer() { return unavailable("the other end of the socket has gone"); }

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

/// Attaches descriptors to a message.
class AttachedDescriptors {
 public:
  AttachedDescriptors(msghdr& message, std::span<const int> descriptors) {
    if (descriptors.empty()) return;
    const size_t bytes = descriptors.size() * sizeof(int);
    message.msg_control = space_.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(head), descriptors.data(), bytes);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(Channel::kMaxDescriptors * sizeof(int))> space_{};
};

}  // namespace

// Returns whether the socket is readable, or has been closed, before the deadline.
bool Channel::wait_until(WaitClock::TimePoint deadline) const {
  constexpr std::chrono::milliseconds kLongest{60'000};  // what poll() takes is an int
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.now());
    const auto wait = clock_.begin_wait(std::clamp(left, std::chrono::milliseconds(0), kLongest));
    pollfd watched{socket_.get(), POLLIN, 0};
    const int ready = poll(&watched, 1, static_cast<int>(wait.count()));
    if (ready > 0) return true;
    if (left.count() <= 0 || (ready < 0 && errno != EINTR)) return false;
  }
}

Status Channel::send(MessageType type, std::string_view body, std::span<const int> descriptors) {
  if (body.size() > UINT32_MAX || descriptors.size() > kMaxDescriptors)
    return internal_error("a message is too long for its frame");
  const Lock lock(send_mutex_);
  Head head{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(type), static_cast<uint16_t>(descriptors.size())};
  iovec parts[2] = {{&head, sizeof head}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const AttachedDescriptors attached(message, descriptors);
  for (size_t left = sizeof head + body.size(); left > 0;) {
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return closed_by_peer();
    left -= static_cast<size_t>(sent);
    // Descriptors are sent with the first piece only; otherwise they would arrive twice.
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    auto done = static_cast<size_t>(sent);
    for (iovec& part : parts) {
      const size_t step = std::min(done, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      done -= step;
    }
  }
  return {};
}

bool Channel::try_send(MessageType type, std::string_view body) {
  if (!send_mutex_.try_lock()) return false;
  const Lock lock(send_mutex_, std::adopt_lock);
  Head head{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(type), 0};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += body;
  // The kernel sends so small a message as a whole or not at all.
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

void Channel::take_descriptors(const msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors_.emplace_back(fd);
    }
  }
}

Result<size_t> Channel::read_some(void* to, size_t most) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> space{};
  iovec part{to, most};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (accepts_descriptors_) {  // without a buffer the kernel closes descriptors that arrive
    message.msg_control = space.data();
    message.msg_controllen = space.size();
  }
  while (true) {
    const ssize_t received = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received > 0) {
      take_descriptors(message);
      return static_cast<size_t>(received);
    }
    if (received == 0) return closed_by_peer();
    if (would_block(errno)) return size_t{0};
    if (errno != EINTR) return closed_by_peer();
  }
}

// Returns true once a frame is complete.
Result<bool> Channel::read_more() {
  if (head_received_ < sizeof head_) {
    FOREBAY_ASSIGN(const size_t received,
                   read_some(reinterpret_cast<char*>(&head_) + head_received_, sizeof head_ - head_received_));
    head_received_ += received;
    if (head_received_ < sizeof head_) return false;
    // Checked before memory is allocated for the body.
    if (head_.bytes > max_bytes_)
      return corrupt(fmt::format("a message of {} bytes; {} are the most here", head_.bytes, max_bytes_));
    if (head_.descriptors > (accepts_descriptors_ ? kMaxDescriptors : 0))
      return corrupt("a message with descriptors where none are taken");
    body_received_ = 0;
  }
  while (body_received_ < head_.bytes) {
    if (body_received_ == body_.size()) body_.resize(std::min<size_t>(head_.bytes, body_received_ + kGrowth));
    FOREBAY_ASSIGN(const size_t received, read_some(body_.data() + body_received_, body_.size() - body_received_));
    if (received == 0) return false;
    body_received_ += received;
  }
  return true;
}

Result<std::optional<Frame>> Channel::take_frame() {
  if (descriptors_.size() < head_.descriptors) return corrupt("a message lacks descriptors that it tells of");
  std::optional<Frame> frame(Frame{static_cast<MessageType>(head_.type), std::move(body_), {}});
  for (uint16_t i = 0; i < head_.descriptors; ++i) {
    frame->descriptors.push_back(std::move(descriptors_.front()));
    descriptors_.pop_front();
  }
  body_.clear();
  head_received_ = 0;
  return frame;
}

Result<std::optional<Frame>> Channel::receive(std::chrono::milliseconds timeout) {
  const auto deadline = clock_.now() + timeout;
  while (true) {
    FOREBAY_ASSIGN(const bool done, read_more());
    if (done) return take_frame();
    if (!wait_until(deadline)) return std::optional<Frame>();
  }
}

void Channel::shut_down() { shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace forebay
