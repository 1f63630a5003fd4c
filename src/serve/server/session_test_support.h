#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "forebay/forebay.h"
#include "serve/memory/mapped_slabs.h"
#include "serve/server/client_session.h"
#include "serve/wire/channel.h"

namespace forebay::serve_test {

constexpr std::chrono::minutes kNever{5};  // bounds the wait for an answer that must come

struct SocketPair {
  SocketPair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    client = FileDescriptor(fds[0]);
    server = FileDescriptor(fds[1]);
  }
  FileDescriptor client, server;
};

/// The client's end of a connection, which sends what the test says and maps what the server sends.
class ScriptedClient {
 public:
  explicit ScriptedClient(FileDescriptor socket)
      : channel_(std::move(socket), 1 << 26, Channel::Descriptors::kAccept) {}

  void send(MessageType type, std::string_view body = "") { (void)channel_.send(type, body); }
  /// Returns the next answer; kFailed with a status of its own if the server has hung up. Slabs
  /// that precede it are mapped.
  Frame answer() {
    while (true) {
      Result<std::optional<Frame>> frame = channel_.receive(kNever);
      if (!frame.ok()) return {MessageType::kFailed, to_message(frame.status()), {}};
      if (!frame->has_value()) return {MessageType::kFailed, to_message(internal_error("no answer")), {}};
      if ((*frame)->type != MessageType::kSlabs) return std::move(**frame);
      map(**frame);
    }
  }
  Frame ask(MessageType type, std::string_view body = "") {
    send(type, body);
    return answer();
  }
  /// Returns the error in the answer, or Ok for any other answer.
  Status status_of(MessageType type, std::string_view body = "") {
    const Frame frame = ask(type, body);
    return frame.type == MessageType::kFailed ? status_from_message(frame.body) : Status();
  }
  Status greet() { return status_of(MessageType::kHello, to_message(Hello())); }
  Status open(const Pipeline& pipeline, LoaderOptions options = {}, int together = 0) {
    return status_of(MessageType::kOpen, to_message(request(pipeline, std::move(options), together)));
  }
  static OpenRequest request(const Pipeline& pipeline, LoaderOptions options = {}, int together = 0) {
    return {*pipeline.description().to_json(), std::move(options), "", together};
  }
  /// Asks until there is a batch, the end of an epoch or an error.
  Frame next() {
    while (true) {
      Frame frame = ask(MessageType::kNext, to_message(uint32_t{100}));
      if (frame.type != MessageType::kNotYet) return frame;
    }
  }
  /// Returns the next batch, which must be one.
  BatchMessage next_batch() {
    const Frame frame = next();
    EXPECT_EQ(frame.type, MessageType::kBatch);
    return frame.type == MessageType::kBatch ? *from_message<BatchMessage>(frame.body) : BatchMessage();
  }
  void free(const std::vector<uint64_t>& numbers) { send(MessageType::kFreed, to_message(numbers)); }
  /// Returns whether the server has hung up. Answers that precede it are dropped.
  bool hung_up() {
    Result<std::optional<Frame>> frame = channel_.receive(kNever);
    while (frame.ok() && frame->has_value()) frame = channel_.receive(kNever);
    return frame.status().code() == Code::kUnavailable;
  }
  Result<Tensor> tensor(const TensorLocation& location) const { return slabs_.tensor(location, nullptr); }
  size_t slabs_received() const { return slabs_received_; }
  Channel& channel() { return channel_; }

 private:
  void map(const Frame& frame) {
    const auto slabs = from_message<std::vector<SlabMessage>>(frame.body);
    ASSERT_TRUE(slabs.ok());
    ASSERT_EQ(slabs->size(), frame.descriptors.size());
    for (size_t i = 0; i < slabs->size(); ++i) {
      ++slabs_received_;
      ASSERT_TRUE(slabs_.add((*slabs)[i], frame.descriptors[i]).ok());
    }
  }

  Channel channel_;
  MappedSlabs slabs_;
  size_t slabs_received_ = 0;
};

/// A session on a thread of its own, and its client.
class RunningSession {
 public:
  explicit RunningSession(Sharing& sharing, WaitClock& clock = WaitClock::real())
      : session_(std::move(pair_.server), getpid(), sharing, clock), client_(std::move(pair_.client)),
        thread_([this] { session_.run(); }) {}
  ~RunningSession() {
    session_.abort();
    if (thread_.joinable()) thread_.join();
  }
  /// Waits until run() has returned.
  void join() { thread_.join(); }
  ClientSession& session() { return session_; }
  ScriptedClient& client() { return client_; }

 private:
  SocketPair pair_;
  ClientSession session_;
  ScriptedClient client_;
  std::thread thread_;
};

/// The state that the sessions of a test share, without a server.
inline std::unique_ptr<Sharing> test_sharing(std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  auto sharing = std::make_unique<Sharing>();
  sharing->together = std::make_shared<TogetherRuns>(patience);
  sharing->status = [] { return std::string("{\"test\": true}"); };
  sharing->stop = [] {};
  return sharing;
}

}  // namespace forebay::serve_test
